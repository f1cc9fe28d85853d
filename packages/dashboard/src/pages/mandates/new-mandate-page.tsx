import { mandateChallenge, mandateStatement, type OwnerApproval } from '@countersign/protocol'
import { useQuery, useQueryClient, useSuspenseQuery } from '@tanstack/react-query'
import { getRouteApi, Link, useNavigate } from '@tanstack/react-router'
import { useState } from 'react'
import { BrowserError } from '../../api/browser-errors.ts'
import { createMandateWithPasskey } from '../../api/passkeys.ts'
import { sessionQuery } from '../../api/queries.ts'
import { APPROVALS_KEY, approvalQuery } from '../../approvals/queries.ts'
import { Button } from '../../components/button.tsx'
import { ErrorNote, Note } from '../../components/error-note.tsx'
import { Page } from '../../components/page.tsx'
import { Loading, Skeleton } from '../../components/skeleton.tsx'
import { submitHandler } from '../../components/submit-handler.ts'
import { toast } from '../../components/toast.tsx'
import { useAction } from '../../components/use-action.ts'
import { isPasskeyMissing, PasskeyLink, reasonNotToApprove } from '../approvals/decision-form.tsx'
import { shownRequest } from '../approvals/shown-request.ts'
import { MandateFields } from './mandate-fields.tsx'
import { mandateOf, strictestForm } from './mandate-form.ts'
import { MandateSummary } from './mandate-summary.tsx'

const route = getRouteApi('/signed-in/approvals/$approval/mandate')

/** Makes a standing mandate from an approval that was given. */
export function NewMandatePage() {
  const { approval: id } = route.useParams()
  const { data: approval, error, isPending, refetch } = useQuery(approvalQuery(id))
  return (
    <Page
      title="Allow requests like this"
      above={
        <Link
          to="/approvals/$approval"
          params={{ approval: id }}
          className="w-fit text-accent underline"
        >
          Back to the approval
        </Link>
      }
      lead="The service approves such requests of the agent by itself, without asking you."
      width="narrow"
    >
      {isPending && (
        <>
          <Loading what="the approval" />
          <Skeleton className="h-120 rounded-2xl" />
        </>
      )}
      {approval === undefined && <ErrorNote error={error} onRetry={() => void refetch()} />}
      {approval && <LoadedForm key={id} approval={approval} />}
    </Page>
  )
}

function LoadedForm({ approval }: { readonly approval: OwnerApproval }) {
  const session = useSuspenseQuery(sessionQuery).data
  // Read once: what a person has read does not change under their eyes, whatever the service sends later.
  const [shown] = useState(() => shownRequest(approval))
  const [now] = useState(Date.now)
  const [form, setForm] = useState(() => strictestForm(shown, now))
  const queries = useQueryClient()
  const navigate = useNavigate()
  const statement = mandateOf(shown, form, now)
  const unavailable = reasonNotToApprove(session, shown)

  const create = useAction(async () => {
    if (typeof statement === 'string') throw new BrowserError(statement)
    const { shortName } = session.service
    await createMandateWithPasskey(
      statement,
      mandateChallenge(shortName, mandateStatement(statement)),
    )
    toast('The mandate is created.')
    await queries.invalidateQueries({ queryKey: APPROVALS_KEY })
    await navigate({ to: '/approvals/mandates' })
  })

  if (unavailable !== null) {
    return (
      <Note tone="warn">
        <p>{unavailable}</p>
      </Note>
    )
  }
  return (
    <form onSubmit={submitHandler(create.run)} noValidate className="flex flex-col gap-6">
      <MandateFields shown={shown} form={form} onChange={setForm} now={now} />
      <section aria-labelledby="signed" className="flex flex-col gap-3">
        <h2 id="signed" className="font-semibold text-xl tracking-tight">
          Your passkey signs exactly this
        </h2>
        <div aria-live="polite">{typeof statement === 'string' && <Note>{statement}</Note>}</div>
        {typeof statement !== 'string' && (
          <MandateSummary statement={statement} displayName={shown.displayName} />
        )}
      </section>
      <p className="text-pretty">
        Leave what must not change at “This value”, such as the currency and the recipient. You can
        end the mandate at any time.
      </p>
      <ErrorNote error={create.error} />
      {isPasskeyMissing(create.error) && <PasskeyLink />}
      <Button type="submit" variant="primary" pending={create.pending}>
        Approve with passkey
      </Button>
    </form>
  )
}
