"""A report: one HTML file that needs nothing else. What it says (`page`), its charts (`charts`),
its tables (`listing`), and what moves in it (`page.js`, `page.css`)."""
