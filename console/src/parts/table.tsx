import { type ColumnDef, flexRender, getCoreRowModel, useReactTable } from '@tanstack/react-table'
import type { ReactNode } from 'react'
import { useText } from '../text.tsx'

interface TableProps<Row> {
  /** Read aloud as the name of the table. */
  label: string
  rows: readonly Row[] | undefined
  columns: ColumnDef<Row>[]
  idOf(row: Row): string
  /** Shown if there are no rows. */
  empty?: ReactNode
  pages?: Pages
}

/** Pages by key: the address has the last row of the page before, so a page is stable while rows are added. */
interface Pages {
  isFirst: boolean
  hasMore: boolean
  toFirst(): void
  toNext(): void
}

/** Rows in columns; on a narrow screen each row is a card, whose lines have the names of the columns. */
export function Table<Row>({ label, rows, columns, idOf, empty, pages }: TableProps<Row>) {
  const t = useText()
  const data = rows as Row[] | undefined
  const table = useReactTable({ data: data ?? noRows, columns, getRowId: idOf, getCoreRowModel: getCoreRowModel() })
  if (!rows) return <p className="quiet pad">{t('table.loading')}</p>
  const nameOf = (id: string) => String(table.getColumn(id)?.columnDef.header ?? '')
  return (
    <>
      {rows.length === 0 ? (
        empty
      ) : (
        <div className="table">
          <table aria-label={label}>
            <thead>
              {table.getHeaderGroups().map(({ id, headers }) => (
                <tr key={id}>
                  {headers.map((header) => (
                    <th key={header.id} data-column={header.column.id} scope="col">
                      {flexRender(header.column.columnDef.header, header.getContext())}
                    </th>
                  ))}
                </tr>
              ))}
            </thead>
            <tbody>
              {table.getRowModel().rows.map((row) => (
                <tr key={row.id}>
                  {row.getVisibleCells().map((cell) => (
                    <td key={cell.id} data-column={cell.column.id} data-name={nameOf(cell.column.id)}>
                      {flexRender(cell.column.columnDef.cell, cell.getContext())}
                    </td>
                  ))}
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      )}
      {pages && !(pages.isFirst && !pages.hasMore) && (
        <nav className="pages" aria-label={t('table.pages')}>
          <button type="button" disabled={pages.isFirst} onClick={pages.toFirst}>
            {t('table.first')}
          </button>
          <button type="button" disabled={!pages.hasMore} onClick={pages.toNext}>
            {t('table.next')}
          </button>
        </nav>
      )}
    </>
  )
}

/** Makes columns of rows of one kind. The cells are made of the whole row. */
export function columnFor<Row>() {
  return (id: string, header: string, cell: (row: Row) => ReactNode): ColumnDef<Row> => ({
    ...{ id, header },
    cell: ({ row }) => cell(row.original),
  })
}

/** The same each time: otherwise the table would be built again at each render. */
const noRows: never[] = []
