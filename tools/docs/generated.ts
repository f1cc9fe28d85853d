import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { dashboardJson } from '../grafana/dashboard.ts'
import { withPart } from './marked-part.ts'
import { sdkReference } from './sdk-section.ts'

/** A page with a generated part. */
export interface Generated {
  readonly file: string
  /** @returns the page with its part generated again */
  write(root: string, page: string): string
}

/** All such pages except docs/channels.md, which tools/channel-docs.ts generates. */
export const GENERATED: readonly Generated[] = [
  { file: 'deploy/grafana/countersign.json', write: dashboardJson },
  {
    file: 'docs/gateways.md',
    write: (root, page) => withPart(page, 'deploy', deploySection(root)),
  },
  { file: 'docs/sdk.md', write: (root, page) => withPart(page, 'sdk', sdkReference(root)) },
]
/** The files of deploy/, grouped by proxy. */
const PROXIES: readonly (readonly [string, readonly (readonly [string, string])[]])[] = [
  ['nginx', [['nginx/countersign.conf', 'nginx']]],
  ['Caddy', [['caddy/Caddyfile', 'caddy']]],
  ['Traefik', [['traefik/countersign.yml', 'yaml']]],
  [
    'HAProxy',
    [
      ['haproxy/haproxy.cfg', 'haproxy'],
      ['haproxy/countersign.lua', 'lua'],
    ],
  ],
  ['Envoy', [['envoy/envoy.yaml', 'yaml']]],
]

/** Includes the files of deploy/ in the page. */
function deploySection(root: string): string {
  const block = (path: string, language: string) => {
    const text = readFileSync(join(root, 'deploy', path), 'utf8').trimEnd()
    return `\`deploy/${path}\`\n\n\`\`\`${language}\n${text}\n\`\`\``
  }
  return PROXIES.map(([proxy, files]) =>
    [`### ${proxy}`, ...files.map(([path, language]) => block(path, language))].join('\n\n'),
  ).join('\n\n')
}
