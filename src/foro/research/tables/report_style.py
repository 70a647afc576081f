"""How the report of experiments looks, beyond what all of FoRo's pages share."""

STYLE = """
main { max-width: 76rem; }
header p { max-width: 50rem; }
h2 { font-size: 1.5rem; margin-top: 3rem; } h3 { font-size: 1.1rem; margin: 0 0 .75rem; }
h2.bench { border-bottom: 3px solid #1a7f37; padding-bottom: .25rem; }
section:not(.cards) { margin: 1.25rem 0; background: #fff; border: 1px solid #d0d7de; border-radius: .75rem;
  padding: 1rem 1.25rem; }
section .plot { border: 0; padding: 0; max-width: 60rem; margin: 0 auto; }
.scroll { overflow-x: auto; }
table.figures { border-collapse: collapse; font-size: .875rem; width: auto; min-width: 100%; }
table.figures th, table.figures td { text-align: right; padding: .3rem .6rem; border-bottom: 1px solid #eaeef2;
  border-radius: 0; white-space: nowrap; font-size: .85rem; }
table.figures th[scope=row] { text-align: left; color: #1f2328; }
table.figures thead th { border-bottom: 1px solid #1f2328; vertical-align: bottom; }
table.figures th.group { text-align: center; border-left: 1px solid #d0d7de; color: #1f2328; font-weight: 600; }
table.figures td.paper { color: #6e7781; border-left: 1px solid #d0d7de; }
table.figures td.ours { font-weight: 600; }
td.good { color: #1a7f37; } td.bad { color: #cf222e; }
code { font-size: .85em; background: #eaeef2; border-radius: .3rem; padding: .1rem .3rem; }
.note, .notes { font-size: .8rem; color: #57606a; } .notes p { margin: .15rem 0; }
h4 { margin: 1rem 0 .25rem; font-size: .95rem; }
details { margin: .75rem 0; } summary { cursor: pointer; }
details.run { background: #fff; border: 1px solid #d0d7de; border-radius: .5rem; padding: .5rem .9rem;
  margin: .4rem 0; }
details.run summary span { float: right; color: #57606a; font-variant-numeric: tabular-nums; }
dl { display: grid; grid-template-columns: max-content 1fr; gap: .2rem 1rem; font-size: .85rem; }
dt { color: #57606a; } dd { margin: 0; overflow-wrap: anywhere; }
pre { font-size: .8rem; white-space: pre-wrap; overflow-wrap: anywhere; }
.matrix svg { display: block; width: 100%; height: auto; }
@media (max-width: 40rem) {
  dl { grid-template-columns: 1fr; }
  details.run summary span { float: none; display: block; }
}
@media print { section { break-inside: avoid; } details.run { display: none; } }
"""
