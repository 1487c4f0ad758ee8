aws emr create-cluster --release-label emr-6.8.0 \
  --applications Name=Spark Name=Hive Name=Ganglia Name=HBase Name=Zookeeper \
  --ec2-attributes KeyName=key \
  --configurations '[
    {"Classification": "hbase-site", "Properties": {
      "hbase.rootdir": "s3://bucket/hbase_replication",
      "hbase.hregion.max.filesize": "500000000",
      "hbase.bucketcache.size": "600000"}},
    {"Classification": "hbase", "Properties": {
      "hbase.emr.storageMode": "s3",
      "hbase.emr.readreplica.enabled": "false"}}]' \
  --instance-groups '[
    {"InstanceGroupType": "CORE", "InstanceCount": 8, "InstanceType": "r5dn.2xlarge", "EbsConfiguration":
      {"EbsBlockDeviceConfigs": [{"VolumesPerInstance": 1, "VolumeSpecification": {"SizeInGB": 40, "VolumeType": "gp2"}}]}},
    {"InstanceGroupType": "MASTER", "InstanceCount": 1, "InstanceType": "c5a.16xlarge", "EbsConfiguration":
      {"EbsBlockDeviceConfigs": [{"VolumesPerInstance": 1, "VolumeSpecification": {"SizeInGB": 40, "VolumeType": "gp2"}}]}}]'
