"""Facts about AWS, EMR and HBase as dated data files, with their readers; each file names its source and date."""
