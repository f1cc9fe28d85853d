import type { Certificate } from './certificate.ts'
import type { PageContext } from './views/context.ts'
import type { PreviewFacts } from './views/preview.tsx'

/** What a preview shows of a certificate. */
export function previewFactsOf(
  { serviceName, site }: PageContext,
  { agent, grade, verification }: Certificate,
): PreviewFacts {
  return {
    serviceName,
    host: site.host,
    did: agent[site.naming.didField],
    displayName: agent.displayName,
    username: agent.username,
    status: agent.status,
    grade: grade.grade,
    owner: agent.owner?.displayName ?? null,
    identity: verification?.label ?? null,
  }
}
