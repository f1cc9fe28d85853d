import { freePort } from '../../../../../../test/support/ports.ts'

/** What a scrape said: a value for each series, by its name with its labels as they were written. */
export type Scrape = ReadonlyMap<string, number>

export interface Scraping {
  /** For the settings of the service. */
  readonly env: { readonly METRICS_PORT: string }
  scrape(): Promise<Scrape>
}

export async function scraping(): Promise<Scraping> {
  const port = String(await freePort())
  return {
    env: { METRICS_PORT: port },
    async scrape() {
      const response = await fetch(`http://localhost:${port}/metrics`)
      return parseMetrics(await response.text())
    },
  }
}

/** @throws Error where a line is not in the text format of Prometheus */
export function parseMetrics(text: string): Scrape {
  const series = new Map<string, number>()
  for (const line of text.split('\n')) {
    if (line === '' || line.startsWith('#')) continue
    const [, name, value] = /^([a-zA-Z_:][\w:]*(?:\{[^}]*\})?) (\S+)$/.exec(line) ?? []
    if (name === undefined) throw new Error(`no line of a scrape: ${line}`)
    series.set(name, value === 'Nan' ? Number.NaN : Number(value?.replace('Inf', 'Infinity')))
  }
  return series
}
