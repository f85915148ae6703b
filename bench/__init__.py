"""What Tongs costs, measured against bare Python and bare processes in the same run.

    make bench              everything; prints the table and writes it to bench/results.md
    make bench ARGS=--quick fewer rounds and no instruction counts; writes nothing

Only ratios are kept: what one machine needs in milliseconds says nothing about another.
"""
