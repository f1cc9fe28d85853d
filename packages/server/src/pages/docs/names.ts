import type { Naming } from '@countersign/protocol'

/** What a deployment goes by: what the documentation says in the place of the defaults. */
export interface DeploymentNames {
  readonly naming: Naming
  readonly serviceName: string
  /** Without a slash at the end. */
  readonly baseUrl: string
}

/**
 * Characters that stand for a deployment's names in documentation that is built but not served yet. They are of
 * Unicode's private use area: no text of ours has them, and Markdown takes them for letters.
 */
export const PLACEHOLDER = {
  shortName: '\ue000',
  idHeader: '\ue001',
  /** The header's name as many programs show it. */
  idHeaderLower: '\ue002',
  /** The same in the names of variables, such as nginx has. */
  idHeaderVariable: '\ue003',
  serviceName: '\ue004',
  baseUrl: '\ue005',
  host: '\ue006',
} as const

/** The characters above, and nothing else. */
export const PLACEHOLDERS = /[\ue000-\ue006]/g

/**
 * Fills in the names of a deployment.
 * @param template Markdown or HTML, with placeholders
 * @param fit makes a name fit for the template: HTML needs its own
 */
export function fillNames(
  template: string,
  names: DeploymentNames,
  fit: (text: string) => string = (text) => text,
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
  }
  return template.replaceAll(PLACEHOLDERS, (mark) => fit(filled[mark] as string))
}

/** For text and quoted attributes. */
export function escapeHtml(text: string): string {
  return text
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;')
    .replaceAll('"', '&quot;')
}
