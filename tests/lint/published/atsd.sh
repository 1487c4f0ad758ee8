aws emr create-cluster \
--applications Name=HBase \
--release-label emr-5.3.1 \
--use-default-roles \
--ec2-attributes KeyName=key,SubnetId=subnet-1 \
--instance-groups \
  Name=Master,InstanceCount=1,InstanceGroupType=MASTER,InstanceType=m4.large \
  Name=Region,InstanceCount=3,InstanceGroupType=CORE,InstanceType=m4.large \
--configurations '[{
     "Classification": "hbase",
     "Properties": { "hbase.emr.storageMode": "s3" }
  },{
     "Classification": "hbase-site",
     "Properties": { "hbase.rootdir": "s3://atsd/hbase-root" }
  }]'
