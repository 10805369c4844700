"""The console door: commands and how their answers look. Nothing here decides or writes rows."""
