import type { IdentityProviderCard } from '@countersign/protocol'
import { type ReactNode, useState } from 'react'
import { useMay } from '../../api/use-may.ts'
import { Button } from '../../components/button.tsx'
import { ErrorNote } from '../../components/error-note.tsx'
import { AssuranceMark } from './assurance-mark.tsx'
import { ProviderProgram } from './provider-program.tsx'
import { PublishNameField } from './published-name.tsx'
import { formatDays, KIND_NAMES } from './texts.ts'
import { useVerify } from './use-verify.ts'

interface ProviderTableProps {
  readonly providers: readonly IdentityProviderCard[]
  /** The ids of those that have verified the owner. */
  readonly verified: ReadonlySet<string>
}

const COLUMNS = [
  ['Provider', 'w-[22%]'],
  ['Assurance', 'w-52'],
  ['Proves', ''],
  ['Valid for', 'w-36'],
  ['Action', 'w-28'],
] as const

/** Compares the identity providers. If it is too narrow for the size of the text, each row is a card. */
export function ProviderTable({ providers, verified }: ProviderTableProps) {
  return (
    <div className="@container overflow-hidden rounded-2xl border border-line bg-surface">
      <table
        aria-labelledby="providers"
        className="block w-full border-collapse text-left @4xl:table @4xl:table-fixed"
      >
        <thead className="hidden text-soft text-sm @4xl:table-header-group">
          <tr>
            {COLUMNS.map(([name, width]) => (
              <th key={name} scope="col" className={`${PADDING} py-3 font-normal ${width}`}>
                {name}
              </th>
            ))}
          </tr>
        </thead>
        <tbody className="block @4xl:table-row-group">
          {providers.map((each) => (
            <ProviderRow
              key={each.id}
              provider={each}
              verified={verified.has(each.id)}
              urgent={verified.size === 0}
            />
          ))}
        </tbody>
      </table>
    </div>
  )
}

const PADDING = '@4xl:px-3 @4xl:first:pl-6 @4xl:last:pr-6'
const CELL = `block @4xl:table-cell @4xl:py-4 ${PADDING}`

interface ProviderRowProps {
  readonly provider: IdentityProviderCard
  /** Whether it has verified the owner. */
  readonly verified: boolean
  /** Whether the owner has no verification at all. */
  readonly urgent: boolean
}

function ProviderRow({ provider, verified, urgent }: ProviderRowProps) {
  const { id, label, kind, assurance, proves, validForDays, selfService, verifiesName } = provider
  const [publishName, setPublishName] = useState(false)
  const verify = useVerify(id, publishName)
  const may = useMay()
  return (
    <tr className="flex flex-col gap-3 border-line p-5 align-top not-first:border-t @4xl:table-row @4xl:border-t">
      <th scope="row" className={`${CELL} font-normal`}>
        <span className="block font-semibold wrap-anywhere">{label}</span>
        <span
          className={`block text-sm ${kind === 'development' ? 'font-medium text-warn' : 'text-soft'}`}
        >
          {KIND_NAMES[kind]}
        </span>
      </th>
      <Cell>
        <AssuranceMark assurance={assurance} />
      </Cell>
      <Cell name="Proves">
        {proves}
        {!verified && selfService && verifiesName && may('admin') && (
          <PublishNameField label={label} checked={publishName} onChange={setPublishName} />
        )}
      </Cell>
      <Cell name="Valid for">
        {validForDays === null ? 'As long as the provider says' : formatDays(validForDays)}
      </Cell>
      <Cell>
        <div className="flex flex-col items-start gap-2">
          {verified ? (
            <span className="font-medium text-good">Verified</span>
          ) : !may('admin') ? (
            <span className="text-soft">Not verified</span>
          ) : selfService ? (
            <Button
              size="small"
              variant={urgent ? 'primary' : 'secondary'}
              pending={verify.pending}
              aria-label={`Verify with ${label}`}
              onClick={verify.run}
            >
              Verify
            </Button>
          ) : (
            <span className="text-soft">Ask the operator of this service</span>
          )}
          <ErrorNote error={verify.error} />
        </div>
        <ProviderProgram provider={id} label={label} verify={verify} />
      </Cell>
    </tr>
  )
}

interface CellProps {
  /** Shown on narrow screens, where there is no row of headings. */
  readonly name?: string
  readonly children: ReactNode
}

function Cell({ name, children }: CellProps) {
  return (
    <td className={`${CELL} text-pretty`}>
      {name && <span className="text-soft @4xl:hidden">{name}: </span>}
      {children}
    </td>
  )
}
