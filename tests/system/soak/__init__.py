# SPDX-License-Identifier: GPL-2.0
"""The soak: a volume under load while everything around it goes wrong, at random.

::

     initial network namespace                         namespace "tgt"
    +----------------------------------+              +------------------------------+
    | fio, fio, ... each in a region   |              |  LIO: 4 targets, each with   |
    |    of its own, all of it verified|              |  one LUN and 2 portals; two  |
    |    |                             |              |  with a portal group and an  |
    |    |                             |              |  ALUA group for each portal  |
    | istripe: leg 0..3                |              |                              |
    |    path 0 of each leg  -- ini0 --|---- veth ----|-- tgt0 -- portals .0.2       |
    |    path 1 of each leg  -- ini1 --|---- veth ----|-- tgt1 -- portals .1.2       |
    +----------------------------------+              +------------------------------+

bed       the targets and the volume
events    what happens to them: small classes, and a table of them
clerk     does what must not keep the director waiting
director  which event happens when, and when it is over
load      fio on the disk, again and again
watchdog  when it hangs
report    what has come of it, as a table and as JSON
"""
