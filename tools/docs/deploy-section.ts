import { readFileSync } from 'node:fs'
import { join } from 'node:path'

/** The files of deploy/, each under the proxy that it is for. */
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

/** What each proxy needs, as it stands in deploy/. */
export function deploySection(root: string): string {
  const block = (path: string, language: string) => {
    const text = readFileSync(join(root, 'deploy', path), 'utf8').trimEnd()
    return `\`deploy/${path}\`\n\n\`\`\`${language}\n${text}\n\`\`\``
  }
  return PROXIES.map(([proxy, files]) =>
    [`### ${proxy}`, ...files.map(([path, language]) => block(path, language))].join('\n\n'),
  ).join('\n\n')
}
