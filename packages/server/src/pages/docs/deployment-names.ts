import type { Naming } from '@countersign/protocol'
import type { Settings } from '../../base/config.ts'
import { cliPackage, libraryPackage } from '../../base/packages.ts'
import { Cookies } from '../../http/cookies.ts'

/** What decides which operations a deployment has, and what they answer. */
export interface Features {
  /** Whether it witnesses logs. */
  readonly witness: boolean
  /** The preview `card-formats`. */
  readonly cardFormats: boolean
}

/** What differs between deployments in the documentation. */
export interface Deployment {
  readonly naming: Naming
  readonly serviceName: string
  /** Without a slash at the end. */
  readonly baseUrl: string
  /** Names of the rate limits that apply. */
  readonly limits: ReadonlySet<string>
  readonly features: Features
}

/** @param limits names of the rate limits that apply */
export function deploymentOf(settings: Settings, limits: readonly string[]): Deployment {
  const { naming, serviceName, baseUrl, witnessLogs, previews } = settings
  return {
    naming,
    serviceName,
    baseUrl: baseUrl.origin,
    limits: new Set(limits),
    features: { witness: witnessLogs !== null, cardFormats: previews.has('card-formats') },
  }
}

/** The folder of the HTTP reference and the OpenAPI document for some features. */
export function apiFolder({ witness, cardFormats }: Features): string {
  return `api${witness ? '-witness' : ''}${cardFormats ? '-card-formats' : ''}`
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
  /** The quote around a URL in a shell command, if the base URL needs one (`http://[::1]:8080`). */
  urlQuote: '\ue00a',
  sessionCookie: '\ue00b',
  flowCookie: '\ue00c',
} as const

/** Matches any placeholder. */
export const PLACEHOLDERS = /[\ue000-\ue00c]/g

/** Where a page has what differs between requests. */
export const SLOT = '\ue010'

/** Text for deployments with one of some rate limits only: see `ifLimited`. */
const CONDITIONAL = /\ue011([^\ue012]*)\ue012([^\ue013]*)\ue013|[\ue000-\ue00c]/g

/** A text that `fillNames` leaves out unless one of the limits applies. It has no placeholders. */
export function ifLimited(limits: readonly string[], text: string): string {
  return `\ue011${limits.join()}\ue012${text}\ue013`
}

/**
 * Fills in the names of a deployment, in one pass: a name may contain what looks like a placeholder.
 * @param template text with placeholders
 * @param escapeName escapes a name for the template, such as for HTML
 */
export function fillNames(
  template: string,
  deployment: Deployment,
  escapeName: (text: string) => string = (text) => text,
): string {
  const { naming, serviceName, baseUrl, limits } = deployment
  const lower = naming.idHeader.toLowerCase()
  const cookies = new Cookies(baseUrl)
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
    [PLACEHOLDER.urlQuote]: /[^\w:/.-]/.test(baseUrl) ? "'" : '',
    [PLACEHOLDER.sessionCookie]: cookies.name('session'),
    [PLACEHOLDER.flowCookie]: cookies.name('flow'),
  }
  return template.replaceAll(CONDITIONAL, (mark, names?: string, text = '') => {
    if (names === undefined) return escapeName(filled[mark] as string)
    return names.split(',').some((name) => limits.has(name)) ? text : ''
  })
}

const HTML_ESCAPES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#x27;',
}

/** Escapes HTML text and quoted attribute values, as React does. */
export function escapeHtml(text: string): string {
  return text.replaceAll(/[&<>"']/g, (character) => HTML_ESCAPES[character] as string)
}

/** Escapes text within a JSON string. */
export function escapeJson(text: string): string {
  return JSON.stringify(text).slice(1, -1)
}
