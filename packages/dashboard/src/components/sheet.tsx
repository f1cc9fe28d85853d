import { type ReactNode, useId } from 'react'

/** A framed sheet with sections, in the style of the public certificate. */
export function Sheet({ children }: { readonly children: ReactNode }) {
  return (
    <div className="@container rounded-2xl border-2 border-line-strong bg-surface p-1.5 sm:p-2 print:border-0">
      <div className="divide-y divide-line overflow-hidden rounded-lg border border-line-strong print:border-0">
        {children}
      </div>
    </div>
  )
}

interface SheetSectionProps {
  readonly title: string
  /** One or two sentences about the content. */
  readonly lead?: ReactNode
  readonly children: ReactNode
}

/** Title on the left and content on the right; stacked on narrow screens. */
export function SheetSection({ title, lead, children }: SheetSectionProps) {
  const id = useId()
  return (
    <section
      aria-labelledby={id}
      className="grid gap-x-10 gap-y-5 px-4 py-7 @lg:px-8 @3xl:grid-cols-[15rem_minmax(0,1fr)] @3xl:py-9"
    >
      <div className="flex flex-col gap-1.5">
        <h2 id={id} className="text-balance font-semibold text-xl/7 tracking-tight">
          {title}
        </h2>
        {lead && <div className="text-pretty text-soft">{lead}</div>}
      </div>
      <div className="flex min-w-0 flex-col gap-5">{children}</div>
    </section>
  )
}
