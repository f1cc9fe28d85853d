import type { Naming } from '@countersign/protocol'
import { cliPackage, libraryPackage } from '../../base/packages.ts'

/** The names of a deployment, which replace the defaults in the documentation. */
export interface DeploymentNames {
  readonly naming: Naming
  readonly serviceName: string
  /** Without a slash at the end. */
  readonly baseUrl: string
}

/**
 * Placeholders for a deployment's names in the built documentation. They are private-use characters: they occur in none
 * of our texts, and Markdown treats them as letters.
 */
export const PLACEHOLDER = {
  shortName: '\ue000',
  idHeader: '\ue001',
  /** The header's name in lower case, as HTTP/2 and many programs show it. */
  idHeaderLower: '\ue002',
  /** The header's name in variable names, such as nginx's. */
  idHeaderVariable: '\ue003',
  serviceName: '\ue004',
  baseUrl: '\ue005',
  host: '\ue006',
  /** The package of the command `countersign`, as npx takes it. */
  cliPackage: '\ue007',
  /** The packages of the libraries, as `npm install` takes them. */
  sdkPackage: '\ue008',
  gatewayPackage: '\ue009',
} as const

/** Matches any placeholder. */
export const PLACEHOLDERS = /[\ue000-\ue009]/g

/**
 * Fills in the names of a deployment.
 * @param template Markdown or HTML, with placeholders
 * @param escapeName escapes a name for the template, such as for HTML
 */
export function fillNames(
  template: string,
  names: DeploymentNames,
  escapeName: (text: string) => string = (text) => text,
): string {
  const { naming, serviceName, baseUrl } = names
  const lower = naming.idHeader.toLowerCase()
  const filled: Readonly<Record<string, string>> = {
    [PLACEHOLDER.shortName]: naming.shortName,
    [PLACEHOLDER.idHeader]: naming.idHeader,
    [PLACEHOLDER.idHeaderLower]: lower,
    [PLACEHOLDER.idHeaderVariable]: lower.replaceAll('-', '_'),
    [PLACEHOLDER.serviceName]: serviceName,
    [PLACEHOLDER.baseUrl]: baseUrl,
    [PLACEHOLDER.host]: new URL(baseUrl).host,
    [PLACEHOLDER.cliPackage]: cliPackage(baseUrl),
    [PLACEHOLDER.sdkPackage]: libraryPackage('sdk', baseUrl),
    [PLACEHOLDER.gatewayPackage]: libraryPackage('gateway', baseUrl),
  }
  return template.replaceAll(PLACEHOLDERS, (mark) => escapeName(filled[mark] as string))
}

/** Escapes HTML text and quoted attribute values. */
export function escapeHtml(text: string): string {
  return text
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;')
    .replaceAll('"', '&quot;')
}

/** The text of HTML without tags, as `escapeHtml`, markdown-it and the highlighter escape it. */
export function unescapeHtml(html: string): string {
  return html
    .replaceAll('&lt;', '<')
    .replaceAll('&gt;', '>')
    .replaceAll('&quot;', '"')
    .replaceAll('&#x27;', "'")
    .replaceAll('&amp;', '&')
}
