resource "aws_emr_cluster" "theirs" {
  name          = "theirs"
  release_label = "emr-7.10.0"
  applications  = ["HBase"]
  security_configuration = "their-encryption"
  ec2_attributes {
    subnet_id = "subnet-0123456789abcdef0"
    key_name  = "k"
  }
  master_instance_group {
    instance_type  = "m8g.xlarge"
    instance_count = 3
  }
  core_instance_group {
    instance_type  = "r8g.2xlarge"
    instance_count = 7
    ebs_config {
      size = 800
      type = "gp3"
      iops = 4000
      throughput = 250
    }
    ebs_config {
      size = 100
      type = "gp3"
    }
  }
  configurations_json = jsonencode([
    { Classification = "hbase", Properties = { "hbase.emr.storageMode" = "s3" } },
    { Classification = "hbase-site", Properties = { "hbase.rootdir" = "s3://their-bucket/hbase/", "phoenix.query.timeoutMs" = "600000" } }
  ])
}
