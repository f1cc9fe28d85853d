/** One metric: its HELP and TYPE lines, and its samples. */
interface Family {
  readonly header: string[]
  readonly samples: string[]
}

/**
 * Merges the metrics of several processes into one document in the Prometheus text format (0.0.4): HELP and TYPE of each
 * metric once, followed by the samples of all processes, each with a label `worker`.
 * @param texts by the value of the label
 */
export function mergeMetrics(texts: ReadonlyMap<string, string>): string {
  const families = new Map<string, Family>()
  for (const [worker, text] of texts) {
    const own = new Map<string, Family>()
    let family: Family | undefined
    for (const line of text.split('\n')) {
      const name = /^# (?:HELP|TYPE) (\S+)/.exec(line)?.[1]
      if (name === undefined) {
        if (line !== '' && !line.startsWith('#')) family?.samples.push(addLabel(line, worker))
        continue
      }
      family = own.get(name) ?? { header: [], samples: [] }
      own.set(name, family)
      family.header.push(line)
    }
    for (const [name, { header, samples }] of own) {
      const known = families.get(name)
      if (known === undefined) families.set(name, { header, samples })
      else known.samples.push(...samples)
    }
  }
  return [...families.values()]
    .map(({ header, samples }) => `${[...header, ...samples].join('\n')}\n`)
    .join('\n')
}

/** Adds the label to `name 1` or `name{a="b"} 1`. The first brace begins the labels: names contain none. */
function addLabel(sample: string, worker: string): string {
  const [, name, rest = ''] = /^([^{\s]+)(.*)$/.exec(sample) ?? []
  const label = `worker="${worker}"`
  if (!rest.startsWith('{')) return `${name}{${label}}${rest}`
  return `${name}{${label}${rest.startsWith('{}') ? '' : ','}${rest.slice(1)}`
}
