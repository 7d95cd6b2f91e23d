"""What people look at: drawings and reports. No mathematics lives here."""
