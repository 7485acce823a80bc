/* The newest table of each group of one node, gathered from its lines: groups have periods of their own, so that no line has
 * all. What belongs to a job or to a Neuron runtime has that as its owner. */

export function createReadings () {
  const tables = new Map(); /* owner and group -> {owner, group, value, ms} */
  const readings = {
    ms: NaN, /* of the newest line */
    clock: null,

    take (line) {
      const ms = Date.parse(line.time);
      if (!line.report || Number.isNaN(ms))
        return;
      if (!(ms < readings.ms)) {
        readings.ms = ms;
        readings.clock = line.clock ?? readings.clock;
      }
      for (const [section, groups] of Object.entries(line.report))
        if (Array.isArray(groups))
          takeOwned(section, groups, ms);
        else if (section.endsWith('_data'))
          Object.entries(groups).forEach(([group, value]) => put('', group, section, value, ms));
        else
          put('', section, section, groups, ms);
    },

    clear () {
      tables.clear();
      readings.ms = NaN;
      readings.clock = null;
    },

    /* A table as it is read: {value, period, ms, error}; null: there is none. */
    find: (group, owner = '') => tables.get(`${owner}\n${group}`) ?? null,
    all: () => [...tables.values()],
    /* [{owner, groups: {job_cpu: table, ...}}] of a section, as job_data */
    owners (section) {
      const made = new Map();
      for (const table of tables.values())
        if (table.owner && table.section === section)
          (made.get(table.owner) ?? made.set(table.owner, {owner: table.owner, groups: {}}).get(table.owner)).groups[table.group] = table;
      return [...made.values()];
    },
  };

  function put (owner, group, section, value, ms) {
    const id = `${owner}\n${group}`;
    if (value && typeof value === 'object' && !(tables.get(id)?.ms > ms))
      tables.set(id, {owner, group, section, value, ms, period: value.period ?? null, error: value.error ?? ''});
  }

  /* The list is of all that there are: who is missing in it is gone. */
  function takeOwned (section, list, ms) {
    const owners = new Set();
    for (const one of list) {
      const owner = String(one.job_id ?? one.neuron_runtime_tag ?? one.pid ?? '');
      if (!owner || !one.report)
        continue;
      owners.add(owner);
      Object.entries(one.report).forEach(([group, value]) => put(owner, group, section, value, ms));
    }
    for (const [id, table] of tables)
      if (table.section === section && table.owner && !owners.has(table.owner) && table.ms <= ms)
        tables.delete(id);
  }

  return readings;
}

/* A table's parts: its own values, the fold of its rows, its rows as [label, values]. */
export function anatomy (table, meta) {
  const own = {};
  let fold = null;
  let rows = null;
  for (const [name, value] of Object.entries(table.value)) {
    if (name === 'period' || name === 'error')
      continue;
    if (value === null || typeof value !== 'object' || Array.isArray(value))
      own[name] = value;
    else if (meta ? name === meta.fold_name : fold === null && rows === null && isFlat(value))
      fold = value;
    else
      rows = Object.entries(value).filter(([, one]) => one && typeof one === 'object');
  }
  return {own, fold, rows};
}

const isFlat = (value) => Object.values(value).every((one) => one === null || typeof one !== 'object');

/* A table is old when three of its periods have passed. */
export const isOld = (table, ms) => ms - table.ms > Math.max(3000 * (table.period ?? 60), 5000);
