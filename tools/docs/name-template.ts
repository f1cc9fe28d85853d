import { PLACEHOLDER } from '../../packages/server/src/pages/docs/deployment-names.ts'

/**
 * Pages use the default names, so that they read naturally in the repository. Text between these marks keeps the
 * default names when it is served, because it describes a default or the software itself.
 */
const KEPT = /<!-- keep -->(.*?)<!-- \/keep -->/gs

const { shortName, idHeader, idHeaderLower, idHeaderVariable, serviceName, baseUrl, host } =
  PLACEHOLDER
const { cliPackage, sdkPackage, gatewayPackage } = PLACEHOLDER

/** Matches the address of a package that a service offers. @param file a regular expression for its name */
function packageUrl(file: string): RegExp {
  return new RegExp(`(?:http://localhost:8080|https://id\\.example)/packages/${file}\\.tgz`, 'g')
}

/** The names that a deployment can change, as written in the pages. */
const NAMES: readonly (readonly [RegExp, string])[] = [
  [packageUrl('countersign-\\d[\\w.-]*'), cliPackage],
  [packageUrl('countersign-sdk'), sdkPackage],
  [packageUrl('countersign-gateway'), gatewayPackage],
  [/http:\/\/localhost:8080(?!\d)|https:\/\/id\.example(?![\w-])/g, baseUrl],
  [/(?<![\w.-])(?:localhost:8080(?!\d)|id\.example(?![\w.-]))/g, host],
  [/(?<![A-Za-z0-9])svc(?=Did(?![A-Za-z0-9])|(?![A-Za-z0-9]))/g, shortName],
  [/(?<![A-Za-z0-9])ServiceID(?![A-Za-z0-9])/g, idHeader],
  [/(?<=_)serviceid(?![A-Za-z0-9])/g, idHeaderVariable],
  [/(?<![A-Za-z0-9_])serviceid(?![A-Za-z0-9])/g, idHeaderLower],
  [/(?<![A-Za-z0-9@/_-])Countersign(?![A-Za-z0-9])/g, serviceName],
]

/** Replaces names by placeholders, except in marked text, and removes the marks. */
export function nameTemplate(markdown: string): string {
  const parts = markdown.split(KEPT)
  const template = parts.map((part, index) => (index % 2 === 1 ? part : withPlaceholders(part)))
  const text = template.join('')
  if (/<!-- \/?keep -->/.test(text)) throw new Error('a <!-- keep --> has no end, or no beginning')
  return text
}

/** Marked text. */
export function keptIn(markdown: string): string[] {
  return [...markdown.matchAll(KEPT)].map(([, kept]) => kept as string)
}

function withPlaceholders(text: string): string {
  return NAMES.reduce((done, [name, mark]) => done.replaceAll(name, mark), text)
}
