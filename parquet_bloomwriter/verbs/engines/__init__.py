"""How engines are asked whether they use filters: questions, queries, the program, the report."""
