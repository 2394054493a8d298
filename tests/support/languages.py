"""The same short text in many languages and scripts."""

from __future__ import annotations

__all__ = ["TEXTS"]

TEXTS = {
    "english": "The tenant pays the rent on the first day of every month. The landlord keeps the house in good repair.",
    "german": "Der Mieter zahlt die Miete am ersten Tag jedes Monats. Der Vermieter hält das Haus in gutem Zustand.",
    "french": "Le locataire paie le loyer le premier jour de chaque mois. Le propriétaire entretient le toit.",
    "spanish": "El inquilino paga el alquiler el primer día de cada mes. El propietario mantiene la casa y el tejado.",
    "finnish": "Vuokralainen maksaa vuokran joka kuukauden ensimmäisenä päivänä. Vuokranantaja pitää talon kunnossa.",
    "polish": "Najemca płaci czynsz pierwszego dnia każdego miesiąca. Właściciel utrzymuje dom w dobrym stanie.",
    "turkish": "Kiracı kirayı her ayın ilk günü öder. Ev sahibi evi iyi durumda tutar ve çatıyı onarır.",
    "vietnamese": "Người thuê nhà trả tiền thuê vào ngày đầu tiên của mỗi tháng. Chủ nhà giữ cho ngôi nhà luôn tốt.",
    "russian": "Арендатор платит арендную плату в первый день каждого месяца. Хозяин содержит дом в хорошем состоянии.",
    "greek": "Ο ενοικιαστής πληρώνει το ενοίκιο την πρώτη ημέρα κάθε μήνα. Ο ιδιοκτήτης συντηρεί το σπίτι.",
    "georgian": "მოიჯარე ქირას იხდის ყოველი თვის პირველ დღეს. მესაკუთრე სახლს კარგ მდგომარეობაში ინახავს.",
    "arabic": "يدفع المستأجر الإيجار في اليوم الأول من كل شهر. ويحافظ المالك على البيت في حالة جيدة.",
    "hebrew": "השוכר משלם את שכר הדירה ביום הראשון של כל חודש. בעל הבית שומר על הבית במצב טוב.",
    "hindi": "किरायेदार हर महीने के पहले दिन किराया देता है। मकान मालिक घर को अच्छी हालत में रखता है।",
    "thai": "ผู้เช่าจ่ายค่าเช่าในวันแรกของทุกเดือน เจ้าของบ้านดูแลบ้านให้อยู่ในสภาพดี",
    "chinese": "承租人于每月第一天支付租金。出租人负责维修房屋，保持良好状态。",
    "japanese": "借主は毎月一日に家賃を支払います。大家さんは家をきれいに保ち、屋根を修理します。",
    "korean": "세입자는 매달 첫날에 집세를 냅니다. 집주인은 집을 좋은 상태로 유지합니다.",
}
