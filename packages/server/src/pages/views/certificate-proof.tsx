import { Command, CopyField } from '@countersign/ui'
import type { ReactNode } from 'react'
import type { FaceProps } from './certificate-face.tsx'
import { pathOf } from './page-context.ts'
import { Clause } from './sheet.tsx'

/** How to verify the certificate yourself. */
export function CheckClause({ context, certificate: { agent } }: FaceProps) {
  const did = agent[context.site.naming.didField]
  const { links } = agent
  return (
    <Clause id="check" title="Verify it yourself">
      <p>Somebody could imitate this page. These commands verify the certificate and the key.</p>
      <ol className="space-y-5">
        <Step title="Look up the certificate status">
          <Command value={`curl -s ${links.lookup}`} what="the command that looks it up" />
        </Step>
        <Step title="Verify that the agent holds the key">
          <Command
            value={`npx -y ${context.cliPackage} verify ${did} --url ${context.site.baseUrl}`}
            what="the command that challenges the agent"
          />
        </Step>
        <Step title="Resolve its DID to the key">
          <Command
            value={`curl -s ${links.didDocument}`}
            what="the command that resolves the DID"
          />
        </Step>
      </ol>
    </Clause>
  )
}

function Step({ title, children }: { readonly title: string; readonly children: ReactNode }) {
  return (
    <li className="space-y-2">
      <p className="font-medium">{title}</p>
      {children}
    </li>
  )
}

const LINK = 'text-accent underline underline-offset-4 hover:text-accent-strong'

/** Badge, QR code and address, for the owner. */
export function ShareClause({ context, certificate: { agent } }: FaceProps) {
  const { certificateUrl } = agent
  const path = pathOf(certificateUrl)
  return (
    <Clause id="share" title="Share">
      <div className="flex flex-wrap gap-x-10 gap-y-6">
        <figure className="space-y-2">
          <img
            src={`${path}/qr.svg`}
            alt="QR code of the address of this certificate"
            width="168"
            height="168"
            loading="lazy"
            className="size-42 rounded-lg border border-line"
          />
        </figure>
        <div className="min-w-0 flex-1 basis-80 space-y-4">
          <p>
            Only you see this section. A badge shows the certificate status. It updates within a
            minute.
          </p>
          {(['flat', 'seal'] as const).map((style) => (
            <div key={style} className="space-y-2">
              <img
                src={`${path}/badge.svg?style=${style}`}
                alt={`Badge, ${style}`}
                height={style === 'flat' ? 20 : 56}
                loading="lazy"
                className={style === 'flat' ? 'h-5' : 'h-14'}
              />
              <Command
                value={embedCode(context.serviceName, certificateUrl, style)}
                what={`the code of the ${style} badge`}
              />
            </div>
          ))}
        </div>
      </div>
      <div>
        <p className="text-sm text-soft">Address of this certificate</p>
        <CopyField value={certificateUrl} what="the address" />
      </div>
    </Clause>
  )
}

/** The same agent for programs. */
export function LinksClause({ certificate: { agent } }: Pick<FaceProps, 'certificate'>) {
  const { links } = agent
  return (
    <Clause id="links" title="For programs">
      <ul className="flex flex-wrap gap-x-7 gap-y-2">
        {[
          { name: 'As JSON', url: links.self },
          { name: 'Lookup', url: links.lookup },
          { name: 'Card', url: links.card },
          { name: 'Compact card', url: links.compactCard },
          { name: 'DID document', url: links.didDocument },
        ].map(({ name, url }) => (
          <li key={name}>
            <a href={pathOf(url)} className={LINK}>
              {name}
            </a>
          </li>
        ))}
      </ul>
    </Clause>
  )
}

function embedCode(serviceName: string, url: string, style: string): string {
  const name = serviceName.replaceAll('&', '&amp;').replaceAll('"', '&quot;')
  return `<a href="${url}"><img src="${url}/badge.svg?style=${style}" alt="${name} certificate"></a>`
}

/** The limits of what a certificate says. */
export function SmallPrint({ context, certificate: { agent } }: FaceProps) {
  const { serviceName } = context
  return (
    <Clause id="meaning" title="Limits">
      <p className="text-sm/6 text-soft">
        {agent.status === 'active'
          ? `This certificate states that the owner named here admitted the holder of the key, and how ${serviceName} verified that owner.`
          : 'While it was active, this certificate stated that the owner named here admitted the holder of the key. It no longer does.'}{' '}
        It does not state that the agent is good, safe or honest. Owners choose the self-declared
        names, pictures and descriptions, and a verified identity does not verify them.
      </p>
      <p className="mt-2 text-sm/6">
        <a
          href="/docs/reports"
          className="text-accent underline underline-offset-4 hover:text-accent-strong"
        >
          Report this agent
        </a>
      </p>
    </Clause>
  )
}
