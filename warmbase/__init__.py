"""warmbase sizes, deploys and operates cache-tuned HBase on Amazon EMR."""
