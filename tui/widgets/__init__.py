"""What screens are made of, one public class for each file."""
