"""What any room may use: asynchronous twins, options as keywords, lazy names, logging."""
