print("unfinished")
