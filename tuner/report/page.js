/* A click on a heading sorts by its column, and a second click reverses the order. Empty cells stay last. */
for(const table of document.querySelectorAll('table.sortable')){
const heads=[...table.tHead.rows[0].cells];
heads.forEach((head,index)=>{
const key=row=>{const text=row.cells[index].textContent.trim(),number=parseFloat(text);
return text===''?null:isNaN(number)?text:number};
const compare=(a,b)=>typeof a===typeof b?(a<b?-1:a>b?1:0):typeof a==='number'?-1:1;
const sort=()=>{
const down=head.getAttribute('aria-sort')==='ascending';
heads.forEach(other=>other.removeAttribute('aria-sort'));
head.setAttribute('aria-sort',down?'descending':'ascending');
const rows=[...table.tBodies[0].rows].map(row=>[key(row),row]);
rows.sort(([a],[b])=>a===null||b===null?(a===null)-(b===null):
down?compare(b,a):compare(a,b));
table.tBodies[0].append(...rows.map(([,row])=>row))};
head.classList.add('sorts');head.tabIndex=0;head.title='sort by this column';
head.addEventListener('click',sort);
head.addEventListener('keydown',event=>{
if(event.key==='Enter'||event.key===' '){event.preventDefault();sort()}})})}
