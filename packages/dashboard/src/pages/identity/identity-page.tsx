import type { Identity } from '@countersign/protocol'
import { useQuery } from '@tanstack/react-query'
import { getRouteApi, Link } from '@tanstack/react-router'
import { identityQuery } from '../../api/queries.ts'
import { buttonClass } from '../../components/button.tsx'
import { ErrorNote, Note } from '../../components/error-note.tsx'
import { Page } from '../../components/page.tsx'
import { ProviderError } from '../../components/provider-error.tsx'
import { Sheet, SheetSection } from '../../components/sheet.tsx'
import { Loading, Skeleton } from '../../components/skeleton.tsx'
import { ProviderCard } from './provider-card.tsx'
import { StoredData } from './stored-data.tsx'
import { VerificationItem } from './verification-item.tsx'

export function IdentityPage() {
  const { data, error, refetch } = useQuery(identityQuery)
  return (
    <Page
      title="Identity"
      lead="Prove who you are once, and every agent of yours shows that someone stands behind it."
    >
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
        what="Nothing has changed: you were not verified."
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
            <strong className="font-semibold">You are verified by {label(verified)}.</strong> Your
            agents show it from now on.
          </p>
          <Link to="/claim" className={buttonClass('primary', 'small')}>
            Claim an agent
          </Link>
        </div>
      </Note>
    </div>
  )
}

function Loaded({ identity: { providers, verifications } }: { readonly identity: Identity }) {
  const current = verifications.filter(({ expired }) => !expired)
  return (
    <>
      <Sheet>
        <SheetSection title="What stands for you" lead="The strongest one counts.">
          {verifications.length === 0 ? (
            <EmptyState />
          ) : (
            <ul className="flex flex-col divide-y divide-line">
              {verifications.map((each) => (
                <VerificationItem
                  key={each.provider}
                  verification={each}
                  provider={providers.find(({ id }) => id === each.provider)}
                  labelOf={(id) => providers.find((one) => one.id === id)?.label ?? id}
                />
              ))}
            </ul>
          )}
        </SheetSection>
      </Sheet>
      <section aria-labelledby="ways" className="flex flex-col gap-5">
        <div className="flex flex-col gap-1">
          <h2 id="ways" className="font-semibold text-xl tracking-tight">
            Ways to verify
          </h2>
          <p className="max-w-2xl text-pretty text-soft">
            Of the four points that make an agent’s grade, substantial or high assurance gives two,
            low assurance one.
          </p>
        </div>
        {providers.length === 0 && (
          <Note>Whoever runs this service has set up no provider yet. Ask them to.</Note>
        )}
        <ul className="grid gap-5 md:grid-cols-2">
          {providers.map((each) => (
            <ProviderCard
              key={each.id}
              provider={each}
              verified={current.some(({ provider }) => provider === each.id)}
              urgent={current.length === 0}
            />
          ))}
        </ul>
      </section>
      <StoredData />
    </>
  )
}

function EmptyState() {
  return (
    <div className="flex flex-col gap-2">
      <p className="font-medium">Nothing yet.</p>
      <p className="text-pretty">
        Choose one of the ways below. It takes a few minutes, and you come back here when it is
        done. Then you can make claim tokens, with which your agents get their certificates.
      </p>
    </div>
  )
}

function Placeholder() {
  return (
    <>
      <Loading what="your verifications" />
      <Skeleton className="h-96" />
      <div className="grid gap-5 md:grid-cols-2">
        <Skeleton className="h-80" />
        <Skeleton className="h-80" />
      </div>
    </>
  )
}
