import { PLACEHOLDER } from '../../packages/server/src/pages/docs/names.ts'

/**
 * Pages are written with the defaults of every setting, so that they read naturally in the repository. What stands
 * between these two stays as it is written where they are served: what is said of a default, or of the software.
 */
const KEPT = /<!-- keep -->(.*?)<!-- \/keep -->/gs

const { shortName, idHeader, idHeaderLower, idHeaderVariable, serviceName, baseUrl, host } =
  PLACEHOLDER

/** The names that a deployment may change, as the pages spell them. */
const NAMES: readonly (readonly [RegExp, string])[] = [
  [/http:\/\/localhost:8080(?!\d)|https:\/\/id\.example(?![\w-])/g, baseUrl],
  [/(?<![\w.-])(?:localhost:8080(?!\d)|id\.example(?![\w.-]))/g, host],
  [/(?<![A-Za-z0-9])svc(?=Did(?![A-Za-z0-9])|(?![A-Za-z0-9]))/g, shortName],
  [/(?<![A-Za-z0-9])ServiceID(?![A-Za-z0-9])/g, idHeader],
  [/(?<=_)serviceid(?![A-Za-z0-9])/g, idHeaderVariable],
  [/(?<![A-Za-z0-9_])serviceid(?![A-Za-z0-9])/g, idHeaderLower],
  [/(?<![A-Za-z0-9@/_-])Countersign(?![A-Za-z0-9])/g, serviceName],
]

/** Puts placeholders in the place of names, but where they are to be kept. The marks of that go. */
export function nameTemplate(markdown: string): string {
  const parts = markdown.split(KEPT)
  const template = parts.map((part, index) => (index % 2 === 1 ? part : withPlaceholders(part)))
  const text = template.join('')
  if (/<!-- \/?keep -->/.test(text)) throw new Error('a <!-- keep --> has no end, or no beginning')
  return text
}

/** What a page keeps as it is written. */
export function keptIn(markdown: string): string[] {
  return [...markdown.matchAll(KEPT)].map(([, kept]) => kept as string)
}

function withPlaceholders(text: string): string {
  return NAMES.reduce((done, [name, mark]) => done.replaceAll(name, mark), text)
}
