import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { withPart } from './marked-part.ts'
import { sdkReference } from './sdk-section.ts'
import { SDK_PAGES } from './sdk-tasks.ts'

/** A page with a generated part. */
export interface Generated {
  readonly file: string
  /** @returns the page with its part generated again */
  write(root: string, page: string): string
}

/** The files of deploy/ for each proxy, with their languages. */
const DEPLOY_FILES = {
  nginx: [['nginx/countersign.conf', 'nginx']],
  caddy: [['caddy/Caddyfile', 'caddy']],
  traefik: [['traefik/countersign.yml', 'yaml']],
  haproxy: [
    ['haproxy/haproxy.cfg', 'haproxy'],
    ['haproxy/countersign.lua', 'lua'],
  ],
  envoy: [['envoy/envoy.yaml', 'yaml']],
} as const

const PROXIES = Object.keys(DEPLOY_FILES) as (keyof typeof DEPLOY_FILES)[]

/** All such pages except docs/channels.md, which tools/channel-docs.ts generates. */
export const GENERATED: readonly Generated[] = [
  ...PROXIES.map((proxy) => ({
    file: `docs/gateways-${proxy}.md`,
    write: (root: string, page: string) => withPart(page, 'deploy', deployFiles(root, proxy)),
  })),
  ...SDK_PAGES.map(({ name }) => ({
    file: `docs/sdk-${name}.md`,
    write: (root: string, page: string) => withPart(page, 'sdk', sdkPages(root).get(name) ?? ''),
  })),
]

let readPages: { readonly root: string; readonly pages: ReadonlyMap<string, string> } | null = null

/** The sources are parsed once for all pages. */
function sdkPages(root: string): ReadonlyMap<string, string> {
  if (readPages?.root !== root) readPages = { root, pages: sdkReference(root) }
  return readPages.pages
}

function deployFiles(root: string, proxy: keyof typeof DEPLOY_FILES): string {
  const block = ([path, language]: readonly [string, string]) => {
    const text = readFileSync(join(root, 'deploy', path), 'utf8').trimEnd()
    return `\`deploy/${path}\`\n\n\`\`\`${language}\n${text}\n\`\`\``
  }
  return DEPLOY_FILES[proxy].map(block).join('\n\n')
}
