"""Generated pages: the documents under docs/ that code keeps current, and the text forms of figures."""
