resource "aws_emr_cluster" "replica_hbase" {
  applications = ["HBase"]

  configurations_json = <<EOF
[
  {
    "Classification": "hbase-site",
    "Properties": {
      "hbase.regionserver.global.memstore.size.lowerLimit": "${var.memstore_lower_limit[local.environment]}",
      "hbase.regionserver.global.memstore.size.upper.limit": "${var.memstore_upper_limit[local.environment]}",
      "hbase.regionserver.global.memstore.size.upperLimit": "${var.memstore_upper_limit[local.environment]}",
      "hbase.regionserver.handler.count": "${var.handler_count[local.environment]}",
      "hbase.hregion.majorcompaction": "${var.majorcompaction[local.environment]}",
      "hbase.regionserver.storefile.refresh.period": "${var.storefile_refresh_period[local.environment]}",
      "hbase.region.replica.wait.for.primary.flush": "${var.wait_for_primary_flush[local.environment]}",
      "hbase.meta.replica.count": "${var.meta_replica_count[local.environment]}",
      "hbase.bulkload.retries.retryOnIOException": "${var.retry[local.environment]}",
      "hbase.master.balancer.maxRitPercent": "${var.max_rit_percent[local.environment]}",
      "hbase.master.wait.on.regionservers.mintostart": "${var.core_instance_count[local.environment]}",
      "hbase.assignment.usezk": "${var.usezk[local.environment]}"
    }
  },
  {
    "Classification": "hbase",
    "Properties": {
      "hbase.emr.storageMode": "${var.storage_mode[local.environment]}",
      "hbase.emr.readreplica.enabled": "true"
    }
  },
  {
    "classification": "hdfs-site",
    "properties": {
      "dfs.replication": "1"
    }
  },
  {
    "Classification": "emrfs-site",
    "Properties": {
      "fs.s3.multipart.th.fraction.parts.completed": "${var.fraction[local.environment]}",
      "fs.s3.maxConnections": "${var.maxconnections[local.environment]}",
      "fs.s3.maxRetries": "${var.max_retry_count[local.environment]}"
    }
  }
]
EOF
}
