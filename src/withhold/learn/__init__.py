"""What training needs: networks, losses, a journal that resumes, schedules and seeds."""
