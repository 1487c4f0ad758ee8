"""What the world is, as dated data files, and their readers. Each file says where it comes from and when."""
