"""Methods that act on images, and on clips frame by frame."""
