aws emr create-cluster \
  --release-label emr-7.12.0 \
  --applications Name=HBase Name=Hadoop Name=ZooKeeper \
  --ec2-attributes '{
    "SubnetId": "<PRIVATE_SUBNET_ID>",
    "InstanceProfile": "EMR_EC2_DefaultRole"
  }' \
  --instance-groups '[
    {"Name":"Master","InstanceGroupType":"MASTER","InstanceType":"m5.2xlarge","InstanceCount":1},
    {"Name":"Core","InstanceGroupType":"CORE","InstanceType":"m5.2xlarge","InstanceCount":3}
  ]' \
  --configurations '[
    {
      "Classification": "hbase",
      "Properties": {
        "hbase.emr.storageMode": "s3",
        "hbase.emr.readreplica.enabled": "false"
      }
    },
    {
      "Classification": "hbase-site",
      "Properties": {
        "hbase.rootdir": "s3://<BUCKET_NAME>/hbase/data",
        "hbase.regionserver.handler.count": "100"
      }
    },
    {
      "Classification": "emrfs-site",
      "Properties": {
        "fs.s3.maxConnections": "500"
      }
    }
  ]' \
  --auto-termination-policy '{"IdleTimeout":7200}' \
  --unhealthy-node-replacement
