"""Other libraries' interfaces over warmset, a file or a folder for each."""
