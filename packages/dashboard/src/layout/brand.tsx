import { LogoMark, Wordmark } from '@countersign/ui'

/** The logo and the deployment's name. Reserves space while the name is loading. */
export function Brand({ name }: { readonly name: string | undefined }) {
  if (name !== undefined) return <Wordmark name={name} />
  return (
    <span className="inline-flex items-center gap-2.5">
      <LogoMark className="size-7 shrink-0" />
      <span className="h-7 w-28 rounded-md bg-sunken" />
    </span>
  )
}
