import type { AgentStatus } from '@countersign/protocol'
import { Command, formatDay, KeyValue, StatusIcon } from '@countersign/ui'
import { timestamp } from '../../base/timestamp.ts'
import type { Certificate } from '../certificate.ts'
import { downloadCommand, verifyCommands } from '../certificate-commands.ts'
import { ChannelsClause, GradeClause, OwnerClause } from './certificate-evidence.tsx'
import { CertificateFace, type FaceProps } from './certificate-face.tsx'
import { DatesClause, KeyClause } from './certificate-key.tsx'
import { CheckClause, ShareClause, SmallPrint } from './certificate-proof.tsx'
import { htmlOf } from './html.tsx'
import { type PageContext, pathOf } from './page-context.ts'
import { Clause, Sheet } from './sheet.tsx'
import { Shell } from './shell.tsx'

/** The public certificate of an agent. */
export function certificatePage(context: PageContext, certificate: Certificate): string {
  const { agent } = certificate
  const { status, links } = agent
  const path = pathOf(agent.certificateUrl)
  const parts = { context, certificate }
  return htmlOf(
    <Shell
      context={context}
      title={titleOf(context, certificate)}
      description={descriptionOf(context, certificate)}
      path={path}
      image={{ path: `${path}/preview.png`, alt: titleOf(context, certificate) }}
      alternates={[
        { type: 'application/json', href: links.self },
        { type: 'application/did+json', href: links.didDocument },
      ]}
      jsonLd={certificateJsonLd(context, certificate)}
      status={status}
      banner={status === 'active' ? null : <Banner status={status} />}
    >
      <Sheet status={status}>
        <CertificateFace {...parts} />
        <OwnerClause certificate={certificate} />
        <GradeClause certificate={certificate} />
        <ChannelsClause certificate={certificate} />
        <KeyClause {...parts} />
        <DatesClause certificate={certificate} />
        <CheckClause {...parts} />
        <SignedClause {...parts} />
        <LogClause {...parts} />
        <ShareClause {...parts} />
        <SmallPrint {...parts} />
      </Sheet>
    </Shell>,
  )
}

function titleOf({ serviceName }: PageContext, certificate: Certificate): string {
  const { agent, grade } = certificate
  const { status, developmentOnly, displayName } = agent
  const named = `gent named “${quotable(displayName)}”`
  if (status !== 'active') return `${status.toUpperCase()}: a${named} · ${serviceName}`
  const development = developmentOnly ? ' (development only)' : ''
  return `A${named}, ${ownerOf(certificate)}: active certificate, grade ${grade.grade}${development} · ${serviceName}`
}

/** A name within quotation marks: it cannot end them, and so reads as a name. */
function quotable(name: string): string {
  return name.replaceAll(/["“”„‟«»]/gu, '’')
}

/** Who the owner is, as far as the service knows. */
function ownerOf({ agent, verification }: Certificate): string {
  if (verification === null) return 'owner not verified'
  const name = agent.ownerName?.verified?.name
  return name === undefined
    ? `owner verified by ${verification.label}`
    : `owner verified as ${name}`
}

/** Two sentences for search results and social networks. */
function descriptionOf({ serviceName }: PageContext, { agent, verification }: Certificate): string {
  const { status, owner } = agent
  if (status !== 'active') {
    return `The ${serviceName} certificate of the agent named “${quotable(agent.displayName)}” is ${status} since ${formatDay(agent.statusChangedAt)}. Do not rely on it.`
  }
  const identity =
    verification === null
      ? 'Their identity is not verified.'
      : `Identity verified by ${verification.label}.`
  const development = agent.developmentOnly ? ' Development only: do not rely on it.' : ''
  const name = agent.ownerName?.verified
    ? `${agent.ownerName.verified.name} (verified name)`
    : `“${quotable(owner?.displayName ?? 'none')}” (self-declared name)`
  return `The agent named “${quotable(agent.displayName)}” holds an active ${serviceName} certificate. Owner: ${name}. ${identity}${development}`
}

const BANNERS: Readonly<Record<Exclude<AgentStatus, 'active'>, { tone: string; text: string }>> = {
  suspended: {
    tone: 'bg-warn text-warn-wash',
    text: 'Suspended: do not rely on this certificate for now.',
  },
  revoked: { tone: 'bg-bad text-on-bad', text: 'Revoked: do not trust this agent.' },
}

function Banner({ status }: { readonly status: keyof typeof BANNERS }) {
  const { tone, text } = BANNERS[status]
  return (
    <p
      role="alert"
      className={`flex items-center justify-center gap-3 px-4 py-3 text-center text-lg/6 font-semibold ${tone}`}
    >
      <StatusIcon status={status} className="size-6 shrink-0" />
      {text}
    </p>
  )
}

/** JSON-LD of a certificate (schema.org Certification). */
function certificateJsonLd(
  { serviceName, site }: PageContext,
  { agent, grade }: Certificate,
): object {
  const did = agent[site.naming.didField]
  return {
    '@context': 'https://schema.org',
    '@type': 'Certification',
    '@id': agent.certificateUrl,
    url: agent.certificateUrl,
    name: `Certificate of the agent named “${quotable(agent.displayName)}”`,
    certificationIdentification: did,
    certificationStatus: `https://schema.org/${agent.status === 'active' ? 'CertificationActive' : 'CertificationInactive'}`,
    validFrom: agent.claimedAt,
    ...(agent.status === 'revoked' && { expires: agent.statusChangedAt }),
    issuedBy: { '@type': 'Organization', name: serviceName, url: site.baseUrl },
    certificationRating: {
      '@type': 'Rating',
      ratingValue: grade.grade,
      bestRating: 'A',
      worstRating: 'E',
    },
    about: {
      '@type': 'SoftwareApplication',
      name: agent.displayName,
      description: agent.description,
      image: agent.avatarUrl,
      identifier: [did, agent.didWeb],
      ...(agent.owner !== null && {
        maintainer: {
          '@type': 'Thing',
          name: agent.owner.displayName,
          identifier: agent.owner.username,
        },
      }),
    },
  }
}

const LINK = 'text-accent underline underline-offset-4 hover:text-accent-strong'

/** The entry of the current key in the transparency log. Nothing while it is not under a checkpoint. */
function LogClause({ context, certificate: { agent, log } }: FaceProps) {
  if (log === null) return null
  const did = agent[context.site.naming.didField]
  return (
    <Clause id="log" title="Transparency log">
      <p>
        The current key is in a public append-only log, in which nobody can change or remove an
        entry unnoticed. The entry shows that the key was logged, not that the certificate is
        active.
      </p>
      <dl className="grid gap-x-8 gap-y-4 sm:grid-cols-2">
        <KeyValue name="Log">{log.origin}</KeyValue>
        <KeyValue name="Index of the entry">{log.index}</KeyValue>
        <KeyValue name="Newest checkpoint">
          {/* Only the day: with the time, the page and its ETag would change with each change of another agent. */}
          Signed on {formatDay(timestamp(log.checkpointAt))}
        </KeyValue>
        {log.cosigners.length > 0 && (
          <KeyValue name="Cosigned by">
            <ul>
              {log.cosigners.map((name) => (
                <li key={name}>{name}</li>
              ))}
            </ul>
          </KeyValue>
        )}
      </dl>
      {log.cosigners.length > 0 && (
        <p>
          The newest checkpoint has cosignatures of witnesses. A witness cosigns only if the log
          still contains everything that the witness has cosigned before. A log with two histories
          gets no cosignature for the second one.
        </p>
      )}
      <ul className="flex flex-wrap gap-x-7 gap-y-2">
        {[
          { name: 'Proof', path: `/log/proof/${did}` },
          { name: 'All entries about this agent', path: `/log/agent/${did}` },
          { name: 'Checkpoint', path: '/log/checkpoint' },
          { name: 'What the log proves', path: '/docs/transparency' },
        ].map(({ name, path }) => (
          <li key={name}>
            <a href={path} className={LINK}>
              {name}
            </a>
          </li>
        ))}
      </ul>
    </Clause>
  )
}

/** The signed certificate for download, and how to verify it without this service. Only active agents have one. */
function SignedClause({ context, certificate: { agent } }: FaceProps) {
  if (agent.status !== 'active') return null
  const { baseUrl } = context.site
  const url = `${agent.links.lookup}/certificate`
  return (
    <Clause id="signed" title="Signed certificate">
      <p>
        <a href={pathOf(url)} download="certificate.jwt" className={LINK}>
          Download the certificate
        </a>{' '}
        as a JSON Web Token. Anyone can verify it with the{' '}
        <a href="/.well-known/jwks.json" className={LINK}>
          keys of {context.serviceName}
        </a>
        , also offline.
      </p>
      <Command value={downloadCommand(url)} what="the command that downloads it" />
      <div className="divide-y divide-line rounded-lg border border-line">
        {verifyCommands(baseUrl).map(({ name, commands, remark }) => (
          <details key={name} className="px-4 py-3">
            <summary className="cursor-pointer font-medium">Verify it with {name}</summary>
            <div className="space-y-2 pt-3">
              <Command value={commands} what={`the commands for ${name}`} />
              {remark !== null && <p className="text-sm/6 text-soft">{remark}</p>}
            </div>
          </details>
        ))}
      </div>
      <p className="text-sm/6 text-soft">
        A certificate proves nothing about who sends it: anyone who has seen it can send it. Accept
        it only with a request that is signed with its key, and check its entry in the status list.{' '}
        <a href="/docs/certificates" className={LINK}>
          How to use certificates
        </a>
      </p>
    </Clause>
  )
}
