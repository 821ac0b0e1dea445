import assert from 'node:assert/strict'
import { it } from 'node:test'
import { csvLine } from './csv.ts'

it('writes cells so that a spreadsheet reads them as they are', () => {
  assert.equal(csvLine(['a', 1, -0.5, null, undefined, '']), 'a,1,-0.5,,,\r\n')
  assert.equal(csvLine(['a "b"', 'c,d', 'e\nf']), '"a ""b""","c,d","e\nf"\r\n')
})

it('text that begins like a formula is not one', () => {
  assert.equal(csvLine(['=1+1', '+x', '-x', '@x', '\tx', 'x=1']), "'=1+1,'+x,'-x,'@x,'\tx,x=1\r\n")
  assert.equal(csvLine(['=HYPERLINK("http://x",1)']), '"\'=HYPERLINK(""http://x"",1)"\r\n')
})
