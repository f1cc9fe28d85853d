import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { CodedError } from '@countersign/protocol'
import fastifyStatic from '@fastify/static'
import { type Providers, pagePoliciesOf } from '../../accounts/providers/providers.ts'
import { pageHeaders } from '../../http/page-headers.ts'
import type { App } from '../../http/server.ts'
import { escapeHtml } from '../docs/deployment-names.ts'

export interface DashboardDeps {
  readonly baseUrl: string
  readonly serviceName: string
  /** Their scripts may need further sources in the Content-Security-Policy. */
  readonly providers: Providers
  /** The build output of packages/dashboard. */
  readonly dir: string
}

/** Serves `/dashboard/…`, also for each organisation: the single-page app under every path, and its assets, which have hashed names. */
export async function serveDashboard(
  app: App,
  { baseUrl, serviceName, providers, dir }: DashboardDeps,
): Promise<void> {
  const headers = pageHeaders(baseUrl, pagePoliciesOf(providers))
  const page = join(dir, 'index.html')
  const html = existsSync(page) ? readFileSync(page, 'utf8') : null
  const { development } = providers
  const filled = (shown: Readonly<Record<string, boolean>>) =>
    html && fill(html, serviceName, { development, ...shown })
  const signedOut = filled({})
  const ofPerson = filled({ 'signed-in': true })
  const ofOrganisation = filled({ 'signed-in': true, organisation: true })
  /** The page with the skeleton for a path. */
  const pageAt = (path: string) => {
    const organisation = ORGANISATION.exec(path)?.[1]
    if (organisation !== undefined) return ofOrganisation?.replace('%ORGANISATION%', organisation)
    return SIGNED_OUT.test(path) ? signedOut : ofPerson
  }
  if (html !== null) {
    await app.register(fastifyStatic, {
      root: join(dir, 'assets'),
      prefix: '/dashboard/assets/',
      decorateReply: false,
      preCompressed: true,
      immutable: true,
      maxAge: '1y',
      schemaHide: true,
    })
  }
  for (const url of ['/dashboard', '/dashboard/*']) {
    app.get(url, { schema: { hide: true } }, async (request, reply) => {
      if (html === null)
        throw new CodedError('UNAVAILABLE', 'The dashboard is not built: npm run build')
      return reply
        .headers({ ...headers, 'cache-control': 'no-cache' })
        .type('text/html; charset=utf-8')
        .send(pageAt(request.url))
    })
  }
}

/** The pages of an organisation, with its username. */
const ORGANISATION = /^\/dashboard\/o\/([a-z0-9-]+)(?=[/?]|$)/
const SIGNED_OUT = /^\/dashboard\/sign-(?:in|up)\b/

/** Fills in the skeleton, which is seen until the scripts have loaded. @param shown the conditions that hold */
function fill(html: string, serviceName: string, shown: Readonly<Record<string, boolean>>): string {
  return html
    .replaceAll(/<!--if ([\w-]+)-->(.*?)<!--end-->/gs, (_, condition, part) =>
      shown[condition] ? part : '',
    )
    .replace('%SERVICE_NAME%', () => escapeHtml(serviceName))
}
