"""The series that figures and reports draw, a kind a file: from runs gathered into lines (`runs`)
to frozen descriptions, with one look a scheme (`looks`). Renderers compute nothing of their own."""
