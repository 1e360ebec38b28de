# benchtui telemetry: one line per second. POSIX awk: the same in mawk, gawk and busybox awk. It only reads below /proc
# and /sys, with getline; the only process it starts each second is the sleep. Output and environment: telemetry.sh.
# Names of columns: tui/metrics/telemetry.py.
#
# Counters become rates per second over the time since they were last read. Of very many processes or threads some are
# read each second, in turn, each over its own time: sums stay correct, and the cost stays constant.

BEGIN {
  prepare()
  for (round = 0; ; round++) {
    tick()
    pause()
    if (alone()) exit 1
  }
}

# Whether the supervisor in the file `pid`, which would end this program, has been gone for a while.
function alone(   line, word, stat) {
  if ((getline line < "pid") > 0) split(line, word, " ")
  close("pid")
  if (line != "") watched = 1
  if (!watched) return 0 # nobody has begun to
  if (line != "" && (getline stat < (proc word[1] "/stat")) > 0) {
    close(proc word[1] "/stat")
    sub(/.*\) /, "", stat)
    split(stat, field, " ")
    if (field[20] == word[2]) { orphaned = 0; return 0 }
  }
  return ++orphaned > 10
}

function prepare(   words, i) {
  proc = ENVIRON["BT_ROOT"] "/proc/"
  hz = ENVIRON["BT_HZ"] + 0
  clients = split(ENVIRON["BT_LOADS"], loads, " ")
  split(ENVIRON["BT_DEVICES"], words, " ")
  for (i in words) wanted[words[i]] = 1
  rank = ENVIRON["BT_RANK"] + 0 # no target: the busiest disks
  quotas = split(ENVIRON["BT_QUOTAS"], quota, " ")
  ports = split(ENVIRON["BT_PORTS"], port, " ")
  groups = split(ENVIRON["BT_GROUPS"], group, " ")
  nfs_mount = ENVIRON["BT_NFS"]
  at_once = 16 # processes, and threads, that are read in one second
  most_nics = 4
  most_devices = rank ? 16 : 8
  columns = ""
}

function tick(   before) {
  before = now
  now = first_number(proc "uptime")
  dt = now - before
  if (round && dt < 0.2) { if (++hasty > 20) exit 1; return }
  hasty = 0
  names = values = ""
  cpu()
  if (quotas) throttled()
  if (clients) load()
  nics()
  tcp()
  rdma()
  if (rank || ENVIRON["BT_DEVICES"] != "") devices()
  if (nfs_mount != "") nfs()
  memory()
  pressure("cpu")
  pressure("io")
  pressure("memory")
  if (groups) all_groups()
  if (!round) return
  if (names != columns) { columns = names; print "c" columns }
  printf "v %.2f %.2f%s\n", now, dt, values
  fflush()
}

# Sleeps, and lists what only a shell can: threads, and processes by a pattern, both now and then.
function pause(   command, line, word, count, i) {
  command = "exec sleep 1"
  if (due && (crowds != "" || groups)) {
    command = "sleep 1; cd " proc " && { set +f"
    if (crowds != "") command = command "; echo T" crowds
    for (i = 1; i <= groups; i++) {
      line = "grep -lsE -f \"$BT_DIR\"/group." i " [0-9]*/"
      # by what it prints: grep fails when a process ends while it reads, whatever it has found
      command = command "; found=$(" line "comm); echo G " i " ${found:-$(" line "cmdline)}"
    }
    command = command "; } 2>/dev/null"
  }
  while ((command | getline line) > 0) {
    count = split(line, word, " ")
    if (word[1] == "T") list_threads(word, count)
    else if (word[1] == "G") list_group(word, count)
  }
  close(command)
}

function put(name, value) {
  names = names " " name
  values = values " " (value == "" ? "-" : value < 0 ? 0 : value < 1000 ? sprintf("%.4g", value) : sprintf("%.0f", value))
}

function first_number(file,   line, word) {
  line = ""
  if ((getline line < file) < 0) return ""
  close(file)
  split(line, word, " ")
  return word[1] == "" ? "" : word[1] + 0
}

# Returns by how much a counter grew, per second; nothing at first, and when it was set back.
function rate(key, value,   grown) {
  if (!(key in was)) { was[key] = value; return "" }
  grown = value - was[key]
  was[key] = value
  return grown < 0 || dt <= 0 ? "" : grown / dt
}

function more(key, value,   grown) { # by how much it grew, all in all
  grown = rate(key, value)
  return grown == "" ? "" : int(grown * dt + 0.5)
}

# ---- CPU ---------------------------------------------------------------------------------------------------------

function cpu(   file, line, f, all, busy, share, most, core, soft, hot, d) {
  file = proc "stat"
  most = -1
  hot = 0
  while ((getline line < file) > 0) {
    if (substr(line, 1, 3) != "cpu") break
    split(line, f, " ")
    busy = f[2] + f[3] + f[4] + f[7] + f[8] + f[9]
    all = busy + f[5] + f[6]
    d = all - cpu_all[f[1]]
    if (f[1] in cpu_all && d > 0) {
      share = 100 * (busy - cpu_busy[f[1]]) / d
      if (f[1] == "cpu") {
        put("cpu.busy", share)
        put("cpu.iowait", 100 * (f[6] - cpu_wait) / d)
        put("cpu.steal", 100 * (f[9] - cpu_steal) / d)
        put("cpu.softirq", 100 * (f[8] - cpu_soft["cpu"]) / d)
      } else {
        if (share > 95) hot++
        if (share > most) { most = share; core = substr(f[1], 4); soft = 100 * (f[8] - cpu_soft[f[1]]) / d }
      }
    }
    cpu_all[f[1]] = all
    cpu_busy[f[1]] = busy
    cpu_soft[f[1]] = f[8]
    if (f[1] == "cpu") { cpu_wait = f[6]; cpu_steal = f[9] }
  }
  close(file)
  if (most < 0) return
  put("core.number", core)
  put("core.busy", most)
  put("core.softirq", soft)
  put("core.hot", hot)
}

# ---- the load generator's processes ------------------------------------------------------------------------------

function load(   i, pid, cpu_sum, wait, most, rch, wch, rb, wb, known, told, seen, all) {
  due = members < 3 || round - changed < 10 || round % 5 == 0 # tools fork their workers late
  if (due) find_load()
  in_turn = read_in_turn(members, turn, 1)
  turn = in_turn
  thread_turn = read_in_turn(threads, thread_turn, 0)
  cpu_sum = wait = most = rch = wch = rb = wb = known = told = 0
  for (i = 1; i <= members; i++) {
    pid = member[i]
    if (pid in cpu_of) known++
    cpu_sum += cpu_of[pid]
    rch += io_of[pid, 1]; wch += io_of[pid, 2]; rb += io_of[pid, 5]; wb += io_of[pid, 6]
    wait += wait_of[pid]
    if (many[pid] < 2 && cpu_of[pid] > most) most = cpu_of[pid]
  }
  seen = crowds == ""
  for (i = 1; i <= threads; i++) {
    if (thread[i] in cpu_of) { seen = 1; told++ }
    wait += wait_of[thread[i]]
    if (cpu_of[thread[i]] > most) most = cpu_of[thread[i]]
  }
  all = enough(known, members)
  put("gen.procs", members)
  put("gen.cpu", all ? cpu_sum : "")
  put("gen.thread", all && seen ? most : "")
  put("gen.wait", all && seen && wait_known && enough(told, threads) ? wait : "")
  all = all && (io_known || !members)
  put("gen.rchar", all ? rch : "")
  put("gen.wchar", all ? wch : "")
  put("gen.read_bytes", all ? rb : "")
  put("gen.write_bytes", all ? wb : "")
}

# Sets members and member[]: the processes of all loads, parents first; crowds: those with threads.
function find_load(   i, j, k, file, line, f, list, seen) {
  list = crowds = ""
  k = 0
  for (i = 1; i <= clients; i++) {
    file = "../" loads[i] "/load"
    line = ""
    if ((getline line < file) > 0 && split(line, f, " ") == 2 && start_of(f[1]) == f[2]) { member[++k] = f[1]; seen[f[1]] = 1 }
    close(file)
  }
  for (i = 1; i <= k; i++) {
    list = list " " member[i]
    if (many[member[i]] > 1) crowds = crowds " " member[i] "/task/*"
    file = proc member[i] "/task/" member[i] "/children"
    line = ""
    if ((getline line < file) >= 0) {
      j = split(line, f, " ")
      for (; j > 0; j--) if (!(f[j] in seen)) { member[++k] = f[j]; seen[f[j]] = 1 }
    } else if (start_of(member[i]) != "" && !said["children"]++)
      print "u gen.procs the kernel does not list children: of the load only its first process is seen"
    close(file)
  }
  members = k
  if (crowds == "") threads = 0
  if (list != listed) { listed = list; changed = round }
}

# A process says something once it was read twice: until all of few, or half of many were, their sum is not known.
function enough(known, all) { return known == all || (all > at_once && 2 * known >= all) }

function start_of(pid) { return stat_field(pid, 20) }

function stat_field(pid, number,   file, line, f) { # 1 is the state
  file = proc pid "/stat"
  line = ""
  if ((getline line < file) > 0) { sub(/^.*\) /, "", line); split(line, f, " ") }
  close(file)
  return f[number]
}

function list_threads(word, count,   i, f) {
  threads = 0
  for (i = 2; i <= count; i++) {
    split(word[i], f, "/")
    if (f[3] ~ /^[0-9]+$/) thread[++threads] = f[1] "/task/" f[3]
  }
}

# Reads some of the members (or threads), from the one after `last`; returns the last that was read.
function read_in_turn(total, last, whole,   i, each) {
  each = total < at_once ? total : at_once
  for (i = 0; i < each; i++) {
    last = last >= total ? 1 : last + 1
    if (!read_process(whole ? member[last] : thread[last], whole) && whole) changed = round
  }
  return last
}

# Keeps CPU (% of a core) of a process or thread, and how long it waited for one; of whole processes their bytes too.
function read_process(pid, whole,   file, line, f, ticks, since) {
  file = proc pid "/stat"
  line = ""
  if ((getline line < file) <= 0) { close(file); end_children(pid); forget(pid); return 0 }
  close(file)
  sub(/^.*\) /, "", line)
  split(line, f, " ")
  ticks = f[12] + f[13]
  if (whole) many[pid] = f[18] + 0
  if (pid in ticks_of && born[pid] == f[20]) {
    since = now - read_at[pid]
    if (since <= 0) return 1
    cpu_of[pid] = 100 * (ticks - ticks_of[pid]) / hz / since
  } else {
    forget(pid)
    since = 0
  }
  born[pid] = f[20]
  ticks_of[pid] = ticks
  read_at[pid] = now
  if (whole == 1) {
    parent_of[pid] = f[2]
    parents[f[2]]
    read_io(pid, since)
  }
  if (whole == 0 || (whole == 1 && many[pid] < 2)) read_wait(pid, since) # of several threads it is that of the first
  else delete wait_of[pid]
  return 1
}

# schedstat: ns on a CPU, ns runnable without one, turns
function read_wait(pid, since,   file, line, f) {
  file = proc pid "/schedstat"
  line = ""
  if ((getline line < file) > 0 && split(line, f, " ") == 3) {
    wait_known = 1
    if (since > 0) wait_of[pid] = (f[2] - wait_was[pid]) / since / 10000000
    wait_was[pid] = f[2]
  } else if (!wait_known && !said["wait"]++) print "u gen.wait /proc/PID/schedstat of the load cannot be read"
  close(file)
}

# The kernel adds the bytes of a process that ended to those of its parent, once that has waited for it. What was counted
# while it ran is `owed`; the rest is new.
function read_io(pid, since,   f, i, faults, tries) {
  for (tries = 3; tries; tries--) {
    if (!read_counters(pid, f)) break
    faults = pid in parents ? stat_field(pid, 9) : faults_of[pid] # of the processes that it has waited for
    if (faults == faults_of[pid]) break
    faults_of[pid] = faults
    end_children(pid)
  }
  for (i = 1; i <= 6 && i in f; i++) {
    if (since > 0) io_of[pid, i] = (f[i] - io_was[pid, i] - owed[pid, i]) / since
    if (since > 0 && io_of[pid, i] < 0) io_of[pid, i] = 0
    io_was[pid, i] = f[i]
    delete owed[pid, i]
  }
}

function read_counters(pid, counters,   file, line, f, i) {
  split("", counters)
  file = proc pid "/io"
  for (i = 1; i <= 6 && (getline line < file) > 0; i++) {
    split(line, f, " ")
    counters[i] = f[2]
  }
  close(file)
  if (i > 6) io_known = 1
  else if (!io_known && !said["io"]++) print "u gen.io /proc/PID/io of the load cannot be read"
  return i > 6
}

# Forgets the descendants that have ended, the youngest first: each owes its bytes to its parent.
function end_children(pid,   child) {
  for (child in parent_of)
    if (parent_of[child] == pid && start_of(child) != born[child]) { end_children(child); forget(child) }
}

function forget(pid,   i, parent) {
  parent = parent_of[pid]
  for (i = 1; i <= 6; i++) {
    if (parent in born) owed[parent, i] += io_was[pid, i] + owed[pid, i]
    delete io_of[pid, i]; delete io_was[pid, i]; delete owed[pid, i]
  }
  delete cpu_of[pid]
  delete wait_of[pid]
  delete wait_was[pid]
  delete ticks_of[pid]
  delete born[pid]
  delete read_at[pid]
  delete many[pid]
  delete parent_of[pid]
  delete parents[pid]
  delete faults_of[pid]
}

# ---- processes by a pattern --------------------------------------------------------------------------------------

function list_group(word, count,   i, f, g) {
  g = word[2]
  grouped[g] = 0
  for (i = 3; i <= count; i++) {
    split(word[i], f, "/")
    if (f[1] ~ /^[0-9]+$/) in_group[g, ++grouped[g]] = f[1]
  }
}

function all_groups(   g, i, each, sum, known, gone) {
  due = due || round < 2 || round % 10 == 0
  if (!clients) due = round < 2 || round % 10 == 0
  for (g = 1; g <= groups; g++) {
    each = grouped[g] < at_once ? grouped[g] : at_once
    sum = known = gone = 0
    for (i = 0; i < each; i++) {
      group_turn[g] = group_turn[g] >= grouped[g] ? 1 : group_turn[g] + 1
      if (!read_process(in_group[g, group_turn[g]], 2)) gone++
    }
    for (i = 1; i <= grouped[g]; i++)
      if (in_group[g, i] in cpu_of) { known++; sum += cpu_of[in_group[g, i]] }
    put("group." group[g] ".procs", g in grouped ? grouped[g] : "")
    put("group." group[g] ".cpu", g in grouped && enough(known + gone, grouped[g]) ? sum : "")
  }
}

# ---- network -----------------------------------------------------------------------------------------------------

function nics(   file, line, f, name, rx, tx, bad, rrx, rtx, rbad, i) {
  file = proc "net/dev"
  nic_count = 0
  while ((getline line < file) > 0) {
    if (!sub(/:/, " ", line)) continue
    split(line, f, " ")
    name = f[1]
    if (!(name in nic_start)) nic_start[name] = f[2] + f[10]
    nic_rx[name] = rate("rx " name, f[2])
    nic_tx[name] = rate("tx " name, f[10])
    nic_bad[name] = more("bad " name, f[4] + f[5] + f[12] + f[13])
    traffic[name] = f[2] + f[10] - nic_start[name]
    if (traffic[name] > 0) nic_names[++nic_count] = name
  }
  close(file)
  choose(nic_names, nic_count, most_nics, shown_nics)
  rrx = rtx = rbad = 0
  for (i = 1; i <= nic_count; i++) {
    name = nic_names[i]
    if (name in shown_nics) {
      put("nic." name ".rx", nic_rx[name])
      put("nic." name ".tx", nic_tx[name])
      put("nic." name ".bad", nic_bad[name])
    } else { rrx += nic_rx[name]; rtx += nic_tx[name]; rbad += nic_bad[name] }
  }
  if (nic_count <= most_nics) return
  put("nic.others.rx", rrx)
  put("nic.others.tx", rtx)
  put("nic.others.bad", rbad)
}

# Keeps in shown[] the `most` names with most traffic so far; who is shown gives way to twice as much only.
function choose(name, total, most, shown,   i, held, least, best, each) {
  held = 0
  for (each in shown) held++
  while (1) {
    best = ""
    for (i = 1; i <= total; i++)
      if (!(name[i] in shown) && (best == "" || traffic[name[i]] > traffic[best])) best = name[i]
    if (best == "") return
    if (held < most) { shown[best] = 1; held++; continue }
    least = ""
    for (each in shown) if (least == "" || traffic[each] < traffic[least]) least = each
    if (traffic[best] <= 2 * traffic[least]) return
    delete shown[least]
    shown[best] = 1
  }
}

function tcp(   file, line, f, heads, i, at) {
  file = proc "net/snmp"
  heads = 0
  while ((getline line < file) > 0)
    if (substr(line, 1, 4) == "Tcp:" && ++heads == 2) {
      split(line, f, " ")
      put("tcp.out", rate("tcp out", f[12]))
      put("tcp.retrans", more("tcp retrans", f[13]))
      break
    }
  close(file)
  file = proc "net/netstat" # one line of names, one of values
  at = 0
  while ((getline line < file) > 0)
    if (substr(line, 1, 7) == "TcpExt:") {
      if (at) { split(line, f, " "); put("tcp.dup", more("tcp dup", f[at])); break }
      for (i = split(line, f, " "); i > 0 && f[i] != "TCPDSACKRecv"; i--) ;
      if (!i) break
      at = i
    }
  close(file)
}

function rdma(   i, name, dir) {
  for (i = 1; i <= ports; i++) {
    dir = ENVIRON["BT_ROOT"] "/sys/class/infiniband/" port[i] "/counters/"
    name = port[i]
    sub("/ports/", ":", name)
    put("rdma." name ".rx", rate("rdma rx" i, 4 * first_number(dir "port_rcv_data")))
    put("rdma." name ".tx", rate("rdma tx" i, 4 * first_number(dir "port_xmit_data")))
    if (round % 5 == 0 || !(i in port_bad)) # some cards ask their firmware for each of them
      port_bad[i] = first_number(dir "port_rcv_errors") + first_number(dir "port_xmit_discards") \
        + first_number(dir "symbol_error")
    put("rdma." name ".bad", more("rdma bad" i, port_bad[i]))
  }
}

# ---- storage -----------------------------------------------------------------------------------------------------

function devices(   file, line, f, name, i, rest, reads, writes, rms, wms) {
  file = proc "diskstats"
  device_count = 0
  while ((getline line < file) > 0) {
    split(line, f, " ")
    name = f[3]
    if (!(name in wanted)) continue
    if (!(name in dev_start)) dev_start[name] = f[6] + f[10]
    traffic[name] = f[6] + f[10] - dev_start[name]
    dev_names[++device_count] = name
    dev[name, "rd"] = rate("rd " name, 512 * f[6])
    dev[name, "wr"] = rate("wr " name, 512 * f[10])
    dev[name, "reads"] = reads = rate("r " name, f[4])
    dev[name, "writes"] = writes = rate("w " name, f[8])
    rms = rate("rms " name, f[7])
    wms = rate("wms " name, f[11])
    dev[name, "rlat"] = reads > 0 ? rms / reads : ""
    dev[name, "wlat"] = writes > 0 ? wms / writes : ""
    dev[name, "busy"] = rate("ticks " name, f[13])
    dev[name, "queue"] = f[12]
    if (f[19] != "") dev[name, "flushes"] = rate("f " name, f[19]) # since Linux 5.5
  }
  close(file)
  choose(dev_names, device_count, most_devices, shown_devices)
  rest = 0
  for (i = 1; i <= device_count; i++)
    if (dev_names[i] in shown_devices) put_device(dev_names[i])
    else rest += dev[dev_names[i], "rd"] + dev[dev_names[i], "wr"]
  if (device_count > most_devices) put("dev.others.bytes", rest)
}

function put_device(name,   busy) {
  put("dev." name ".rd", dev[name, "rd"])
  put("dev." name ".wr", dev[name, "wr"])
  put("dev." name ".reads", dev[name, "reads"])
  put("dev." name ".writes", dev[name, "writes"])
  put("dev." name ".rlat", dev[name, "rlat"])
  put("dev." name ".wlat", dev[name, "wlat"])
  busy = dev[name, "busy"] # ms a second
  put("dev." name ".busy", busy == "" ? "" : busy > 1000 ? 100 : busy / 10)
  put("dev." name ".queue", dev[name, "queue"])
  if ((name, "flushes") in dev) put("dev." name ".flushes", dev[name, "flushes"])
}

function nfs(   file, line, f, here) {
  file = proc "self/mountstats"
  here = 0
  while ((getline line < file) > 0) {
    if (substr(line, 1, 7) == "device ") {
      if (here == 2) break
      split(line, f, " ")
      here = f[5] == nfs_mount && f[8] ~ /^nfs/
    }
    if (!here) continue
    split(line, f, " ")
    if (f[1] == "bytes:") nfs_bytes(f)
    else if (f[1] == "READ:" || f[1] == "WRITE:") { nfs_calls(tolower(substr(f[1], 1, length(f[1]) - 1)), f); here = 2 }
  }
  close(file)
  if (!here && !said["nfs"]++) print "u nfs /proc/self/mountstats does not have " nfs_mount
}

function nfs_bytes(f) {
  put("nfs.rd_normal", rate("nfs2", f[2]))
  put("nfs.wr_normal", rate("nfs3", f[3]))
  put("nfs.rd_direct", rate("nfs4", f[4]))
  put("nfs.wr_direct", rate("nfs5", f[5]))
  put("nfs.rd_server", rate("nfs6", f[6]))
  put("nfs.wr_server", rate("nfs7", f[7]))
}

# f: ops, transmissions, major timeouts, bytes sent, bytes received, ms queued, ms round trip, ms in all
function nfs_calls(kind, f,   calls, rtt, all) {
  calls = rate("nfs ops " kind, f[2])
  rtt = rate("nfs rtt " kind, f[8])
  all = rate("nfs all " kind, f[9])
  put("nfs." kind ".ops", calls)
  put("nfs." kind ".rtt", calls > 0 ? rtt / calls : "")
  put("nfs." kind ".exec", calls > 0 ? all / calls : "")
  put("nfs." kind ".retrans", more("nfs again " kind, f[3] - f[2]))
}

# ---- CPU limits of control groups ---------------------------------------------------------------------------------

# The share of the periods in which one was out of CPU time: of the one that was most often.
function throttled(   i, line, f, periods, out, share, most) {
  most = ""
  for (i = 1; i <= quotas; i++) {
    periods = out = ""
    while ((getline line < quota[i]) > 0) {
      split(line, f, " ")
      if (f[1] == "nr_periods") periods = rate("cpu periods " i, f[2])
      else if (f[1] == "nr_throttled") out = rate("cpu throttled " i, f[2])
    }
    close(quota[i])
    if (periods == "" || out == "") continue
    share = periods > 0 ? 100 * out / periods : 0
    if (most == "" || share > most) most = share
  }
  put("cpu.throttled", most)
}

# ---- memory, pressure --------------------------------------------------------------------------------------------

function memory(   file, line, f, found) {
  file = proc "meminfo"
  found = 0
  while (found < 4 && (getline line < file) > 0) {
    split(line, f, " ")
    if (f[1] in memory_name) { put(memory_name[f[1]], 1024 * f[2]); found++ }
    else if (!found && f[1] == "MemTotal:") {
      memory_name["MemAvailable:"] = "mem.available"
      memory_name["Cached:"] = "mem.cached"
      memory_name["Dirty:"] = "mem.dirty"
      memory_name["Writeback:"] = "mem.writeback"
    }
  }
  close(file)
}

function pressure(what,   file, line, f, total, found, grown) {
  file = proc "pressure/" what
  found = 0
  while ((getline line < file) > 0) {
    found = 1
    split(line, f, " ")
    if (what == "cpu" && f[1] == "full") continue # of a whole host it is always 0
    total = f[5]
    sub(/^total=/, "", total)
    grown = rate("psi " what f[1], total)
    put("psi." what "." f[1], grown == "" ? "" : grown > 1000000 ? 100 : grown / 10000)
  }
  close(file)
  if (!found && !said["psi"]++) print "u psi the kernel does not give /proc/pressure"
}
