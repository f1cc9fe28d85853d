/** A metric as one process tells of it: what is said about it, and its samples. */
interface Family {
  readonly about: string[]
  readonly samples: string[]
}

/**
 * Makes one exposition of those of several processes, in the text format of Prometheus (0.0.4): what is said about a
 * metric comes once, then the samples of all processes, each with a label `worker`.
 * @param texts by what the label shall say
 */
export function mergeMetrics(texts: ReadonlyMap<string, string>): string {
  const families = new Map<string, Family>()
  for (const [worker, text] of texts) {
    const own = new Map<string, Family>()
    let family: Family | undefined
    for (const line of text.split('\n')) {
      const name = /^# (?:HELP|TYPE) (\S+)/.exec(line)?.[1]
      if (name === undefined) {
        if (line !== '' && !line.startsWith('#')) family?.samples.push(labelled(line, worker))
        continue
      }
      family = own.get(name) ?? { about: [], samples: [] }
      own.set(name, family)
      family.about.push(line)
    }
    for (const [name, { about, samples }] of own) {
      const known = families.get(name)
      if (known === undefined) families.set(name, { about, samples })
      else known.samples.push(...samples)
    }
  }
  return [...families.values()]
    .map(({ about, samples }) => `${[...about, ...samples].join('\n')}\n`)
    .join('\n')
}

/** `name 1` or `name{a="b"} 1`: names hold no brace, so that the first one begins the labels. */
function labelled(sample: string, worker: string): string {
  const [, name, rest = ''] = /^([^{\s]+)(.*)$/.exec(sample) ?? []
  const label = `worker="${worker}"`
  if (!rest.startsWith('{')) return `${name}{${label}}${rest}`
  return `${name}{${label}${rest.startsWith('{}') ? '' : ','}${rest.slice(1)}`
}
