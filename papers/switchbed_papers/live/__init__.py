"""The papers' testbed figures as labs: which (`figures`), their runs (`command`), what they come
to beside the papers (`table`), drawn (`picture`), and as pages (`page`)."""
