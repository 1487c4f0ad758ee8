#!/bin/bash
# Reading cluster for reports: two large nodes, grown by EMR when it is busy.
set -euo pipefail

aws emr create-cluster \
  --name reports-hbase \
  --release-label emr-7.12.0 \
  --applications Name=HBase Name=Trino Name=ZooKeeper \
  --use-default-roles \
  --ec2-attributes KeyName=operations,SubnetId=subnet-0a1b2c3d4e5f \
  --managed-scaling-policy 'ComputeLimits={UnitType=Instances,MinimumCapacityUnits=2,MaximumCapacityUnits=8}' \
  --instance-groups '[
    {
      "InstanceGroupType": "MASTER",
      "InstanceType": "m8g.xlarge",
      "InstanceCount": 1
    },
    {
      "InstanceGroupType": "CORE",
      "InstanceType": "r8g.2xlarge",
      "InstanceCount": 2,
      "EbsConfiguration": {
        "EbsBlockDeviceConfigs": [
          {
            "VolumeSpecification": {
              "VolumeType": "gp3",
              "SizeInGB": 500,
              "Iops": 3000,
              "Throughput": 1000
            },
            "VolumesPerInstance": 1
          }
        ]
      }
    }
  ]' \
  --configurations '[
    {
      "Classification": "hbase",
      "Properties": {"hbase.emr.storageMode": "s3"}
    },
    {
      "Classification": "hbase-site",
      "Properties": {
        "hbase.rootdir": "s3://reports-hbase/prod/",
        "hbase.bucketcache.ioengine": "files:/mnt/hbase/bucketcache",
        "hbase.bucketcache.size": "600000",
        "hbase.bucketcache.bucket.sizes": "66560,532480",
        "hbase.bucketcache.persistent.path": "/mnt/hbase/bucketcache.index",
        "hbase.rs.evictblocksonclose": "true",
        "hbase.master.scp.retain.assignment": "true",
        "hbase.master.scp.retain.assignment.force": "true"
      }
    },
    {
      "Classification": "hbase-env",
      "Properties": {},
      "Configurations": [
        {
          "Classification": "export",
          "Properties": {
            "HBASE_HEAPSIZE": "16384",
            "HBASE_REGIONSERVER_OPTS": "\"-Xmx48g -XX:+HeapDumpOnOutOfMemoryError\""
          }
        }
      ]
    },
    {
      "Classification": "hdfs-site",
      "Properties": {"dfs.replication": "3"}
    },
    {
      "Classification": "yarn-site",
      "Properties": {"yarn.nodemanager.resource.memory-mb": "27136"}
    },
    {
      "Classification": "trino-connector-hive",
      "Properties": {"hive.cache.enabled": "true", "hive.cache.location": "/mnt/rubix"}
    }
  ]'
