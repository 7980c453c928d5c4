"""A report: one HTML file that needs nothing else. What it says (`page`), its charts, a file an
idea (`chart` is what they share), its tables (`listing`), and what moves in it (`page.js`,
`page.css`)."""
