resource "aws_emr_cluster" "cluster" {
  applications = ["HBase"]

  master_instance_group {
    instance_type  = var.master_instance_type
    instance_count = var.master_instance_count
  }
  core_instance_group {
    instance_type  = var.core_instance_type
    instance_count = var.core_instance_count
  }
  configurations_json = <<EOF
[
  {
    "Classification": "hbase",
    "Properties": {
      "hbase.emr.storageMode": "s3"
    }
  },
  {
    "Classification": "hbase-site",
    "Properties": {
      "hbase.rootdir": "s3://.../"
    }
  }
]
EOF
}
