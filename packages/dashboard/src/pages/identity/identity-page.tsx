import { type Identity, strongestVerification } from '@countersign/protocol'
import { useQuery } from '@tanstack/react-query'
import { getRouteApi, Link } from '@tanstack/react-router'
import { organisation } from '../../api/acting-for.ts'
import { identityQuery } from '../../api/queries.ts'
import { useMay } from '../../api/use-may.ts'
import { buttonClass } from '../../components/button.tsx'
import { ErrorNote, Note } from '../../components/error-note.tsx'
import { Page, Section } from '../../components/page.tsx'
import { ProviderError } from '../../components/provider-error.tsx'
import { Sheet, SheetSection } from '../../components/sheet.tsx'
import { Loading, Skeleton } from '../../components/skeleton.tsx'
import { DomainSection } from './domain-section.tsx'
import { ProviderTable } from './provider-table.tsx'
import { BY_DOMAIN } from './texts.ts'
import { VerificationItem } from './verification-item.tsx'

const [LEAD, YOU, YOUR] =
  organisation === null
    ? ['Verify your identity once. The certificates of all your agents show it.', 'You are', 'Your']
    : [
        'Verify the organisation once. The certificates of all its agents show it. Verifications of members do not count for it.',
        'The organisation is',
        'Its',
      ]

export function IdentityPage() {
  const { data, error, refetch } = useQuery(identityQuery)
  return (
    <Page title="Identity" lead={LEAD}>
      <Outcome identity={data} />
      {data !== undefined && <Loaded identity={data} />}
      {data === undefined && error === null && <Placeholder />}
      <ErrorNote error={error} onRetry={refetch} />
    </Page>
  )
}

const route = getRouteApi('/signed-in/identity')

/** The result of an identity verification, from the URL. */
function Outcome({ identity }: { readonly identity: Identity | undefined }) {
  const { verified, failed, code, request } = route.useSearch()
  const label = (id: string) => identity?.providers.find((each) => each.id === id)?.label
  if (failed !== undefined) {
    return (
      <ProviderError
        what="The verification failed. Nothing has changed."
        cancelled="The verification was cancelled. Nothing has changed."
        provider={label(failed)}
        code={code}
        request={request}
      />
    )
  }
  const done = identity?.verifications.some((each) => each.provider === verified && !each.expired)
  if (verified === undefined || !done) return null
  return (
    <div role="status">
      <Note tone="good">
        <div className="flex flex-wrap items-center justify-between gap-3">
          <p>
            <strong className="font-semibold">
              {YOU} verified by {label(verified)}.
            </strong>{' '}
            {YOUR} agents’ certificates show it.
          </p>
          <Link to="/claim" state={{ createToken: true }} className={buttonClass('primary')}>
            Create claim token
          </Link>
        </div>
      </Note>
    </div>
  )
}

function Loaded({ identity: { providers, verifications } }: { readonly identity: Identity }) {
  const current = verifications.filter(({ expired }) => !expired)
  const strongest = strongestVerification(
    current.map((each) => ({ ...each, verifiedAt: Date.parse(each.verifiedAt), expiresAt: null })),
    Date.now(),
  )
  const may = useMay()
  const labelOf = (id: string) =>
    [...providers, ...verifications.map((one) => ({ ...one, id: one.provider }))].find(
      (one) => one.id === id,
    )?.label ?? 'another provider'
  return (
    <>
      <Sheet>
        <SheetSection
          title={organisation === null ? 'Your verifications' : 'Verifications'}
          lead="The strongest valid one counts for the grade."
        >
          {verifications.length === 0 ? (
            <EmptyState />
          ) : (
            <ul className="flex flex-col divide-y divide-line">
              {verifications.map((each) => (
                <VerificationItem
                  key={each.provider}
                  verification={each}
                  provider={providers.find(({ id }) => id === each.provider)}
                  strongest={each.provider === strongest?.provider}
                  labelOf={labelOf}
                />
              ))}
            </ul>
          )}
        </SheetSection>
        {organisation !== null && may('manager') && (
          <DomainSection
            verification={verifications.find(({ provider }) => provider === BY_DOMAIN)}
            labelOf={labelOf}
          />
        )}
      </Sheet>
      <section aria-labelledby="providers" className="flex flex-col gap-5">
        <div className="flex flex-col gap-1">
          <h2 id="providers" className="font-semibold text-xl tracking-tight">
            Identity providers
          </h2>
          <p className="max-w-2xl text-pretty text-soft">
            Substantial or high assurance gives 2 of the 4 points of an agent’s grade, low assurance
            gives 1.
          </p>
        </div>
        {providers.length === 0 && (
          <Note>
            The operator of this service has not configured an identity provider
            {organisation !== null && ' for organisations'}.
          </Note>
        )}
        {providers.length > 0 && (
          <ProviderTable
            providers={providers}
            verified={new Set(current.map(({ provider }) => provider))}
          />
        )}
      </section>
      <StoredData />
    </>
  )
}

const ASK_AN_ADMIN =
  'Ask an admin to verify the organisation. Then managers can create claim tokens.'
const HOW_TO_VERIFY =
  organisation === null
    ? 'Choose an identity provider below. It takes a few minutes. Then you can create claim tokens for your agents.'
    : 'Prove a domain of the organisation, or choose an identity provider below. Then managers can create claim tokens.'

function EmptyState() {
  const may = useMay()
  return (
    <div className="flex flex-col gap-2">
      <p className="font-medium">No verifications yet</p>
      <p className="text-pretty">{may('admin') ? HOW_TO_VERIFY : ASK_AN_ADMIN}</p>
    </div>
  )
}

function Placeholder() {
  return (
    <>
      <Loading what="the verifications" />
      <Skeleton className="h-96" />
      <Skeleton className="h-80" />
    </>
  )
}

export function StoredData() {
  return (
    <Section title="Stored data" lead="The same for every provider.">
      <dl className="grid gap-x-10 gap-y-5 sm:grid-cols-2">
        <div>
          <dt className="font-medium">Stored</dt>
          <dd className="text-pretty text-soft">
            The provider, the assurance level, the dates, the country if the provider names one, and
            a one-way hash of your identifier at the provider. With providers that identify a person
            uniquely, the hash prevents that one person verifies two accounts.
          </dd>
        </div>
        <div>
          <dt className="font-medium">Never stored</dt>
          <dd className="text-pretty text-soft">
            Your address, your date of birth, document numbers, document pictures, and access tokens
            for your account there. Your verified name is stored only if you publish it, and deleted
            when you stop.
          </dd>
        </div>
      </dl>
    </Section>
  )
}
